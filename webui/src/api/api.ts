/** One function per request of docs/api.md. */
import { enc, query, request } from "./client";
import type * as T from "./types";

const thread = (id: string) => `/api/threads/${enc(id)}`;
const task = (id: string) => `/api/tasks/${enc(id)}`;
const memberFile = (member: string, name: string) => `/api/members/${enc(member)}/files/${enc(name)}`;

export const api = {
  session: () => request<T.Session>("GET", "/api/session"),
  login: (body: { token: string } | { user: string; password: string }) => request<void>("POST", "/api/login", body),
  loginWays: () => request<{ password: boolean; oidc: string | null }>("GET", "/api/login"),
  logout: (everywhere: boolean) => request<void>("POST", "/api/logout", { everywhere }),
  ownTokens: () => request<{ tokens: T.AccessToken[]; sessions: number }>("GET", "/api/account/tokens"),
  makeToken: (label: string) => request<T.AccessToken & { token: string }>("POST", "/api/account/tokens", { label }),
  revokeToken: (id: string) => request<void>("DELETE", `/api/account/tokens/${enc(id)}`),
  changePassword: (current: string, password: string) =>
    request<void>("POST", "/api/account/password", { current, password }),
  users: () => request<{ users: T.TeamUser[] }>("GET", "/api/users"),
  addUser: (body: { id: string; name: string; role: T.Role; password?: string }) =>
    request<T.TeamUser>("POST", "/api/users", body),
  changeUser: (id: string, body: { role?: T.Role; disabled?: boolean }) =>
    request<T.TeamUser>("PATCH", `/api/users/${enc(id)}`, body),
  removeUser: (id: string) => request<void>("DELETE", `/api/users/${enc(id)}`),
  giveToken: (id: string, label: string) =>
    request<T.AccessToken & { token: string }>("POST", `/api/users/${enc(id)}/tokens`, { label }),
  takeToken: (id: string, token: string) => request<void>("DELETE", `/api/users/${enc(id)}/tokens/${enc(token)}`),
  sharing: (id: string) => request<T.Sharing>("GET", `${thread(id)}/sharing`),
  share: (id: string, users: string[]) => request<T.Sharing>("PUT", `${thread(id)}/sharing`, { users }),
  setup: () => request<T.SetupInfo>("GET", "/api/setup"),
  makeAgent: (body: { example: string; name?: string; text?: string }) => request<unknown>("POST", "/api/setup", body),

  threads: (options: { query?: string; archived?: boolean; bin?: boolean; before?: string; limit?: number }) =>
    request<{ threads: T.Thread[]; next: string | null }>("GET", `/api/threads${query(options)}`),
  thread: (id: string) => request<T.Thread>("GET", thread(id)),
  createThread: (body: { member?: string; title?: string; priming?: { scriptRefs: string[]; showInUi: boolean } }) =>
    request<{ threadId: string; messages: number; problems: string[] }>("POST", "/api/threads", body),
  changeThread: (id: string, body: { title?: string; archived?: boolean; read?: boolean; model?: string; plan?: "open" | "go" | "off" }) =>
    request<T.Thread>("PATCH", thread(id), body),
  binThread: (id: string) => request<void>("DELETE", thread(id)),
  restoreThread: (id: string) => request<T.Thread>("POST", `${thread(id)}/restore`, {}),
  messages: (id: string, before?: string, limit = 50) =>
    request<T.MessagePage>("GET", `${thread(id)}/messages${query({ before, limit })}`),
  stop: (id: string) => request<{ stopped: boolean }>("POST", `${thread(id)}/stop`, {}),
  steer: (id: string, text: string) => request<{ messageId: string }>("POST", `${thread(id)}/steer`, { text }),
  queue: (id: string) => request<{ queue: T.Queued[] }>("GET", `${thread(id)}/queue`),
  enqueue: (id: string, text: string) => request<{ messageId: string }>("POST", `${thread(id)}/queue`, { text }),
  dequeue: (id: string, messageId: string) => request<void>("DELETE", `${thread(id)}/queue/${enc(messageId)}`),
  openCourse: (id: string) => request<T.Noted>("POST", `${thread(id)}/courses`, {}),
  compact: (id: string) => request<T.Noted>("POST", `${thread(id)}/compact`, {}),
  pins: (id: string) => request<T.Pins>("GET", `${thread(id)}/pins`),
  pin: (id: string, body: { text: string; messageId?: string }) => request<T.Noted>("POST", `${thread(id)}/pins`, body),
  unpin: (id: string, number: number) => request<T.Noted>("DELETE", `${thread(id)}/pins/${number}`),
  runChanges: (run: string) => request<T.RunChanges>("GET", `/api/runs/${enc(run)}/changes`),
  rewind: (run: string) => request<T.RunChanges>("POST", `/api/runs/${enc(run)}/rewind`, {}),
  branch: (id: string, messageId: string, text?: string) =>
    request<{ threadId: string; text: string }>("POST", `${thread(id)}/branch`, { messageId, text }),
  search: (text: string) => request<{ hits: T.Hit[]; files: T.FileHit[] }>("GET", `/api/search${query({ query: text, limit: 20 })}`),

  approvals: (status?: string) =>
    request<{ approvals: T.Approval[] }>("GET", `/api/approvals${query({ status })}`),
  approval: (id: string) => request<T.Approval>("GET", `/api/approvals/${enc(id)}`),
  decide: (id: string, body: { approved: boolean; reason?: string; scope?: string }) =>
    request<{ approval: T.Approval; say: string | null }>("POST", `/api/approvals/${enc(id)}`, body),
  decideAll: (ids: string[], approved: boolean) =>
    request<{ approvals: T.Approval[] }>("POST", "/api/approvals", { ids, approved }),
  grants: () => request<{ grants: T.Grant[] }>("GET", "/api/grants"),
  revoke: (id: string) => request<void>("DELETE", `/api/grants/${enc(id)}`),

  recentPriming: (member: string) => request<T.ScriptList>("GET", `/api/priming/recent${query({ member })}`),
  searchPriming: (member: string, text: string) =>
    request<T.ScriptList>("GET", `/api/priming/search${query({ member, query: text, limit: 50 })}`),
  scripts: (member: string) => request<T.ScriptList>("GET", `/api/priming/scripts${query({ member })}`),
  script: (ref: string) => request<T.ScriptView>("GET", `/api/priming/script${query({ ref })}`),
  saveScript: (ref: string, text: string, digest: string | null) =>
    request<{ scriptRef: string; digest: string; marks: T.ScriptMark[] }>("PUT", "/api/priming/script", { ref, text, digest }),
  scriptHistory: (ref: string) =>
    request<{ versions: T.FileVersion[] }>("GET", `/api/priming/script/history${query({ ref })}`),
  checkScript: (text: string) => request<T.ScriptReading>("POST", "/api/priming/check", { text }),
  fixScript: (text: string) => request<{ text: string }>("POST", "/api/priming/fix", { text }),
  scriptSample: (ref: string, title: string) =>
    request<{ text: string }>("GET", `/api/priming/sample${query({ ref, title })}`),
  offerSlug: (threadId: string) =>
    request<{ slug: string; title: string; member: string }>("GET", `/api/priming/slug${query({ threadId })}`),
  savePriming: (body: { threadId: string; slug: string; title?: string; overwrite?: boolean; full?: boolean }) =>
    request<{ path: string; scriptRef: string; records: number }>("POST", "/api/priming/save", body),
  rehearsal: (ref: string) => request<T.Rehearsal | null>("GET", `/api/priming/rehearsal${query({ ref })}`),
  rehearse: (body: T.RehearsalWish) => request<T.Rehearsal>("POST", "/api/priming/rehearse", body),

  context: (id: string, before?: number) => request<T.ThreadContext>("GET", `${thread(id)}/context${query({ before })}`),
  turnContext: (id: string, turn: number, step?: number, before?: number) =>
    request<T.TurnContext>("GET", `${thread(id)}/context/turns/${turn}${query({ step, before })}`),
  contextDiff: (id: string, from: number, to?: number) =>
    request<T.ContextDiff>("GET", `${thread(id)}/context/diff${query({ from, to })}`),

  members: () => request<T.Crew>("GET", "/api/members"),
  addMember: (body: { id: string; example: string; name?: string; model?: string }) =>
    request<T.CrewMember>("POST", "/api/members", body),
  changeMember: (member: string, body: { name?: string; colour?: string; model?: string; mode?: T.Mode | "" }) =>
    request<T.CrewMember>("PATCH", `/api/members/${enc(member)}`, body),
  removeMember: (member: string) => request<{ place: string }>("DELETE", `/api/members/${enc(member)}`),
  setVariable: (member: string, name: string, value: string) =>
    request<T.CrewMember>("POST", `/api/members/${enc(member)}/env`, { name, value }),
  forgetVariable: (member: string, name: string) =>
    request<T.CrewMember>("DELETE", `/api/members/${enc(member)}/env/${enc(name)}`),
  relate: (body: { member: string; relation: string; other: string; strength: string; note: string }) =>
    request<void>("POST", "/api/relations", body),
  unrelate: (member: string, other: string) => request<void>("DELETE", `/api/relations${query({ member, other })}`),
  mendRelations: () => request<{ written: string[] }>("POST", "/api/relations/mend", {}),
  memberFiles: (member: string) => request<{ files: T.FileInfo[] }>("GET", `/api/members/${enc(member)}/files`),
  memberFile: (member: string, name: string) => request<T.FileText>("GET", memberFile(member, name)),
  saveMemberFile: (member: string, name: string, text: string, version: string | null) =>
    request<{ version: string }>("PUT", memberFile(member, name), { text, version }),
  memberFileHistory: (member: string, name: string) =>
    request<{ versions: T.FileVersion[] }>("GET", `${memberFile(member, name)}/history`),
  memory: () => request<{ files: T.MemoryFile[]; deleted: string[] }>("GET", "/api/memory"),
  memoryFile: (path: string) => request<T.FileText>("GET", `/api/memory/file${query({ path })}`),
  saveMemoryFile: (path: string, text: string, version: string | null) =>
    request<{ version: string }>("PUT", `/api/memory/file${query({ path })}`, { text, version }),
  deleteMemoryFile: (path: string, version: string) =>
    request<void>("DELETE", `/api/memory/file${query({ path, version })}`),
  memoryFileHistory: (path: string) =>
    request<{ versions: T.FileVersion[] }>("GET", `/api/memory/file/history${query({ path })}`),
  permissions: () => request<T.Rules & T.RuleNotes>("GET", "/api/permissions"),
  savePermissions: (rules: T.Rules, was: T.Rules, sure: boolean) =>
    request<T.Rules & T.RuleNotes>("PUT", "/api/permissions", { ...rules, was, sure }),
  tryPermissions: (body: { tool: string; what: string; member?: string; rules?: T.Rules }) =>
    request<T.RuleVerdict>("POST", "/api/permissions/try", body),
  skills: () => request<{ skills: T.Skill[] }>("GET", "/api/skills"),
  openStudio: (skill: string, member: string) => request<{ threadId: string }>("POST", `/api/studio/${enc(skill)}`, { member }),
  tryDraft: (skill: string, text: string) => request<{ threadId: string }>("POST", `/api/studio/${enc(skill)}/try`, { text }),
  skill: (name: string) => request<T.Skill>("GET", `/api/skills/${enc(name)}`),
  adapters: () => request<{ adapters: T.Adapter[] }>("GET", "/api/adapters"),
  outbox: () => request<{ sends: T.Send[] }>("GET", "/api/outbox"),
  retrySend: (id: number) => request<void>("POST", `/api/outbox/${id}/retry`, {}),
  dropSend: (id: number) => request<void>("DELETE", `/api/outbox/${id}`),
  shared: () => request<{ shared: T.Shared[] }>("GET", "/api/shared"),
  revokeShared: (id: string) => request<void>("DELETE", `/api/shared/${enc(id)}`),
  people: () => request<T.People>("GET", "/api/people"),
  pair: (code: string, person?: string) => request<T.Paired>("POST", "/api/people", { code, person }),
  refuseCode: (code: string) => request<void>("DELETE", `/api/people/codes/${enc(code)}`),
  part: (id: string) => request<void>("DELETE", `/api/people/paired/${enc(id)}`),
  tasks: () => request<{ tasks: T.Task[] }>("GET", "/api/tasks"),
  task: (id: string) => request<T.TaskDetail>("GET", task(id)),
  checkTask: (text: string) => request<T.Task>("POST", "/api/tasks/check", { text }),
  saveTask: (id: string, text: string, version: string | null) =>
    request<{ version: string; task: T.Task }>("PUT", task(id), { text, version }),
  deleteTask: (id: string, version: string) => request<void>("DELETE", `${task(id)}${query({ version })}`),
  beginTask: (id: string) => request<{ threadId: string }>("POST", `${task(id)}/run`),
  switchTask: (id: string, on: boolean) => request<T.Task>("POST", `${task(id)}/${on ? "resume" : "pause"}`),
  usage: (days: number) => request<T.Usage>("GET", `/api/usage${query({ days })}`),
  audit: (before?: number) => request<T.Audit>("GET", `/api/audit${query({ limit: 100, before })}`),
  doctor: () => request<{ findings: T.Finding[] }>("GET", "/api/doctor"),
  settings: () => request<T.Settings>("GET", "/api/settings"),
  providers: () => request<{ providers: T.Provider[] }>("GET", "/api/settings/providers"),
  offers: (body: T.ModelChoice) =>
    request<{ models: T.Offer[]; message: string | null }>("POST", "/api/settings/models", body),
  testKey: (body: T.ModelChoice) => request<T.KeyTest>("POST", "/api/settings/test-key", body),
  saveModel: (body: T.ModelChoice & { force?: boolean }) =>
    request<T.ModelSaved>("PUT", "/api/settings/model", body),

  upload: (file: File) => {
    const form = new FormData();
    form.append("file", file, file.name);
    return request<T.Upload>("POST", "/api/uploads", form);
  },
};

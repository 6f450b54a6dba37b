/** The shapes of docs/api.md. */
import type { UIMessage } from "ai";

export interface Member {
  id: string;
  name: string;
  description: string;
  kind: "native" | "claude-code" | "openai-codex" | "google-gemini";
  /** As #rrggbb, where it chose one. */
  colour: string | null;
}

/** A member with its model, what it may do, and its variables by name. */
export interface CrewMember extends Member {
  model: string | null;
  /** What holds, and what it states itself. */
  mode: Mode;
  ownMode: Mode | null;
  tools: string[] | null;
  variables: string[];
}

/** What `other` is to `member`, by the file of `member`. */
export interface CrewRelation {
  member: string;
  other: string;
  name: string;
  kind: "member" | "contact" | "nobody";
  relation: string;
  strength: string;
  note: string;
  isMutual: boolean;
}

export interface Crew {
  members: CrewMember[];
  relations: CrewRelation[];
  findings: Finding[];
}

export type Mode = "ask" | "preview" | "auto-edit" | "read-only" | "yolo";

export interface Session {
  csrf: string;
  language: "en" | "zh";
  mode: Mode;
  version: string;
  /** `id` tells workspaces apart that have the same folder name, address or both. */
  workspace: { id: string; name: string; hasAgent: boolean };
  model: ModelInfo;
  members: Member[];
  user: Account;
  /** Whether there is a team beside the owner. */
  hasTeam: boolean;
}

export type Role = "guest" | "member" | "admin";

/** Who is asking; the owner has the workspace's own token. */
export interface Account {
  id: string;
  name: string;
  role: Role;
  isOwner: boolean;
}

export interface AccessToken {
  id: string;
  label: string;
  createdAt: string;
  expiresAt: string | null;
  usedAt: string | null;
}

export interface TeamUser {
  id: string;
  name: string;
  role: Role;
  disabled: boolean;
  hasPassword: boolean;
  isForeign: boolean;
  createdAt: string;
  usedAt: string | null;
  sessions: number;
  tokens: AccessToken[];
}

/** Whose a thread is, and with whom it is shared. */
export interface Sharing {
  owner: string | null;
  users: string[];
}

export interface ModelInfo {
  name: string;
  isRehearsal: boolean;
}

export interface Thread {
  id: string;
  title: string;
  platform: string;
  member: string;
  messageCount: number;
  tokenEstimate: number;
  createdAt: string;
  lastAt: string;
  archived: boolean;
  binned: boolean;
  unread: boolean;
  running: boolean;
  pendingApprovals: number;
  /** The model chosen for this thread; null when its member's answers. */
  model: string | null;
  /** Nothing acts here before a plan is agreed. */
  planning: boolean;
  /** Whether it is ours to share, and whether others of the team see it. */
  mine: boolean;
  shared: boolean;
  /** Where a branch left its parent. */
  branchOf: { threadId: string; messageId: string; title: string } | null;
}

export interface Metadata {
  /** The model that answered. */
  model?: string;
  timestamp?: string;
  platform?: string;
  userId?: string;
  course?: number;
  runId?: string;
  sourceTag?: string;
  toolMs?: Record<string, number>;
  replacedBy?: string;
  /** The words were heard, not typed. */
  spoken?: boolean;
  /** Whose answer it is, when it is not of the member the thread belongs to. */
  member?: string;
  /** A member said these words, not a person: who asked whom up to here, and in which thread. */
  errand?: { chain?: string[]; threadId: string; isAnswer?: boolean; isTainted?: boolean };
}

/** One step of the list that everyone in a thread sees. */
export interface Step {
  text: string;
  done: boolean;
}

export interface DataParts {
  [name: string]: unknown;
  error: { message: string; retryable?: boolean };
  notice: { text: string };
  course: { course: number; summary?: string; reason?: string; pins?: { number: number; text: string }[]; steps?: Step[] };
  steps: { steps: Step[]; member?: string };
  pin: { number: number; text: string };
  queue: { messageId: string; position: number };
  handoff: { from: string; to: string; marker?: string };
  /** Another message of the thread that changed meanwhile, whole. */
  message: UIMessage<Metadata>;
}

export type Message = UIMessage<Metadata, DataParts>;

export interface MessagePage {
  messages: Message[];
  hasMore: boolean;
  problems: string[];
  running: boolean;
  hidePriming: boolean;
}

export interface Pin {
  number: number;
  text: string;
  at: string;
  by: string;
  source: string | null;
}

export interface Pins {
  pins: Pin[];
  /** What will be pinned once the run has ended. */
  waiting: string[];
}

export interface Noted {
  messageId: string;
  waits: boolean;
  course: number | null;
  pin: Pin | null;
  say: string | null;
}

export interface RunChanges {
  runId: string;
  threadId: string;
  at: string;
  canRewind: boolean;
  isRewound: boolean;
  files: {
    path: string;
    change: "added" | "changed" | "removed";
    obstacle: "" | "changed-since" | "not-kept";
  }[];
}

export interface Queued {
  messageId: string;
  text: string;
  at: string;
}

export interface Hit {
  threadId: string;
  title: string;
  messageId: string;
  role: string;
  snippet: string;
  at: string;
}

/** A line of memory or of a script; the path of a script is its ref. */
export interface FileHit {
  kind: "memory" | "script";
  path: string;
  line: number;
  snippet: string;
}

export interface Approval {
  id: string;
  status: "requested" | "approved" | "denied" | "expired" | "superseded";
  threadId: string;
  tool: string;
  input: unknown;
  preview: string | null;
  folder: string;
  leadsTo: string | null;
  /** A file too large to be sent gets an address that holds for so long. */
  sharedHours: number | null;
  length: { lines: number; characters: number };
  scopes: { scope: "10m" | "thread" | "always"; covers: string; rule: string | null }[];
  member: string;
  wording: string | null;
  reason: string | null;
  /** The same in both languages; nothing where it is the words of an error. */
  reasons: Localized | null;
  requestedAt: string;
  expiresAt: string | null;
  decidedAt: string | null;
  decidedBy: string | null;
  words: string | null;
}

export interface Grant {
  id: string;
  tool: string;
  pattern: string | null;
  wording: string | null;
  scope: string;
  threadId: string | null;
  grantedBy: string;
  grantedAt: string;
  expiresAt: string | null;
}

export interface Script {
  scriptRef: string;
  title: string | null;
  path: string;
  records: number;
  updatedAt: string | null;
  usedAt: string | null;
}

export interface BrokenScript {
  scriptRef: string | null;
  path: string;
  line: number;
  reason: string;
}

export interface ScriptList {
  scripts: Script[];
  problems: string[];
  broken: BrokenScript[];
}

export interface ScriptMark {
  line: number;
  record: number;
  level: "error" | "warning";
  rule: string;
  reason: string;
  mend: string;
  canFix: boolean;
}

export interface ScriptReading {
  title: string | null;
  records: number;
  marks: ScriptMark[];
  messages: Message[];
  /** The members a shared script is for; empty means every one. */
  applicableMemberIds: string[];
}

export interface ScriptView extends ScriptReading {
  scriptRef: string;
  path: string;
  text: string;
  /** What an edit is written against; without one the file cannot be edited here. */
  digest: string | null;
  problems: string[];
  uses: { threadId: string; title: string; at: string }[];
}

export interface RehearsalPiece {
  kind: "words" | "thought" | "call" | "result" | "error" | "denial" | "file" | "other";
  name?: string;
  text?: string;
  value?: unknown;
}

export interface Deviation {
  kind: string;
  place: number;
  recorded?: RehearsalPiece | null;
  new?: RehearsalPiece | null;
  reason: string;
}

export interface RehearsalTurn {
  said: string;
  recorded: RehearsalPiece[];
  new: RehearsalPiece[];
  deviations: Deviation[];
  ms: number;
  costUsd: number | null;
  stopped: string;
}

export interface Rehearsal {
  ref: string;
  member: string;
  tools: string;
  model: string;
  forced: boolean;
  startedAt: string;
  ms: number;
  costUsd: number | null;
  verdict: "same" | "differs" | "broken" | "unusable";
  reason: string;
  turns: RehearsalTurn[];
}

export interface RehearsalWish {
  ref: string;
  member?: string;
  tools: "script" | "sandbox" | "live";
  model: "script" | null;
  forced: boolean;
}

/** A section, a tool or a message as a model reads it. */
export interface ContextRow {
  name: string;
  title: string;
  text: string;
  bytes: number;
  tokens: number;
  source: string;
  stability: string;
  reason: string;
  isCut: boolean;
  isKnown: boolean;
}

export interface RowGroup {
  count: number;
  bytes: number;
  tokens: number;
  from: number;
  items: ContextRow[];
}

export interface ContextInfo {
  profile: string;
  member: string;
  model: string;
  window: number | null;
  sections: ContextRow[];
  leftOut: ContextRow[];
  tools: RowGroup;
  history: RowGroup;
  stableTokens: number;
  totalBytes: number;
  totalTokens: number;
}

export interface KnownTurn {
  turn: number;
  at: string;
  messageId: string;
  askedId: string;
  text: string;
  attempt: number;
  attempts: number;
  steps: number;
  course: number;
  brokenBy: string | null;
}

export interface ThreadContext {
  now: ContextInfo;
  turns: KnownTurn[];
  keeps: boolean;
  keepDays: number;
  keepMegabytes: number;
}

export interface StepCost {
  step: number;
  at: string;
  model: string;
  inputTokens: number | null;
  cachedTokens: number | null;
  outputTokens: number | null;
  cost: number | null;
  milliseconds: number | null;
  route: string;
}

export interface TurnContext {
  turn: KnownTurn;
  step: number;
  steps: StepCost[];
  read: ContextInfo;
}

export interface ContextDiff {
  from: number;
  to: number;
  changes: {
    kind: "section" | "tool" | "message";
    name: string;
    change: "changed" | "added" | "removed";
    diff: string;
    tokensBefore: number;
    tokensAfter: number;
  }[];
  untold: number;
  sameTokens: number;
  totalTokens: number;
  breaksIn: string;
}

export interface FileInfo {
  name: string;
  exists: boolean;
  bytes: number;
  version: string | null;
}

export interface FileText {
  name: string;
  text: string;
  version: string | null;
}

export interface FileVersion {
  version: string;
  at: string;
  bytes: number;
  text: string;
}

export interface MemoryItem {
  heading: string;
  kind: "fact" | "preference" | "decision";
  /** Both empty for what a person wrote by hand. */
  date: string;
  source: string;
  isTainted: boolean;
}

export interface MemoryFile {
  path: string;
  bytes: number;
  updatedAt: string | null;
  version: string | null;
  entries: MemoryItem[];
}

export interface Skill {
  name: string;
  description: string;
  always: boolean;
  available: boolean;
  missing: string[] | string | null;
  source: "member" | "workspace" | "package";
  text?: string;
}

export interface UsageRow {
  day?: string;
  model?: string;
  member?: string;
  thread?: string;
  requests: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cost: number | null;
  unpriced?: number;
}

export interface Usage {
  days: UsageRow[];
  models: UsageRow[];
  members: UsageRow[];
  threads: UsageRow[];
  total: UsageRow;
  budget: { period: "day" | "month"; unit: "money" | "tokens"; member: string; limit: number; spent: number; state: string }[];
}

export interface Occurrence {
  task: string;
  due: string;
  status: "claimed" | "fired" | "replied" | "quiet" | "suspended" | "stopped" | "failed" | "missed" | "uncertain";
  at: string;
  byHand?: boolean;
  threadId?: string;
  runId?: string;
  until?: string;
  count?: number;
  why?: string;
}

export interface Task {
  id: string;
  title: string;
  state: "waiting" | "manual" | "paused" | "done" | "broken";
  when: string;
  kind: "manual" | "once" | "every" | "heartbeat" | "cron" | null;
  zone: string;
  member: string | null;
  threadId: string;
  deliver: string[];
  catchUp: string;
  problem: { en: string; zh: string } | null;
  upcoming: string[];
  last: Occurrence | null;
  listed: number;
}

export interface TaskDetail {
  task: Task;
  text: string;
  version: string;
  occurrences: Occurrence[];
}

export interface AuditEvent {
  event: "asked" | "decided" | "allowed" | "refused" | "ran" | "mended" | "broken";
  at: string;
  by?: AuditEntry["by"];
  reason?: string;
  rule?: string;
  grantId?: string;
  who?: string;
  words?: string;
  shown?: string;
  outcome?: string;
}

export interface AuditEntry {
  kind: "call" | "note";
  seq: number;
  at: string;
  threadId: string;
  member: string;
  tool: string;
  what: string;
  outcome: Approval["status"] | "refused" | "running" | "ok" | "error" | "interrupted" | "changed" | "mended" | "broken";
  by: "rule" | "grant" | "mode" | "person" | "policy" | null;
  basis: string;
  who: string;
  initiators: string[];
  digest: string;
  events: AuditEvent[];
}

export interface Audit {
  entries: AuditEntry[];
  next: number | null;
  verified: { holds: boolean; entries: number; breaks: { file: string; line: number; message: string }[]; torn: number };
}

export interface Finding {
  level: "ok" | "warn" | "error";
  subject: string;
  message: string;
  fix: string | null;
}

export interface Settings {
  config: Record<string, unknown>;
  model: ModelInfo;
  keyHint: { path: string; variables: string[] };
}

export interface Provider {
  name: string;
  variable: string;
  hasKey: boolean;
  isKeyless: boolean;
  needsUrl: boolean;
  model: string | null;
  foundAt: string | null;
}

export interface Offer {
  name: string;
  window: number | null;
}

export interface ModelChoice {
  provider: string;
  model?: string;
  apiKey?: string;
  baseUrl?: string;
}

export interface ModelSaved {
  test: KeyTest;
  saved: boolean;
  file: string | null;
  variable: string | null;
  before: unknown;
}

export interface KeyTest {
  ok: boolean;
  inputTokens?: number;
  outputTokens?: number;
  ms?: number;
  model?: string;
  reply?: string;
  code?: string;
  message?: string;
}

export interface SetupInfo {
  hasAgent: boolean;
  examples: {
    id: string;
    title: { en: string; zh: string };
    description: { en: string; zh: string };
    text: string;
  }[];
}

export interface Upload {
  url: string;
  mediaType: string;
  filename: string;
  bytes: number;
}

export type Topic = "threads" | "approvals" | "runs" | "platforms" | "files";

/** What changed since the last one; each connection begins with one that names everything. */
export interface Change {
  type: "change";
  changed: Topic[];
  /** The threads in which a run began or ended. */
  runs: string[];
  /** The files by their place in the workspace; none when they are too many. */
  files: string[];
  waiting: number;
}

export interface Localized {
  en: string;
  zh: string;
}

/** The rules of ship.json. */
export interface Rules {
  mode: Mode;
  allow: string[];
  ask: string[];
  deny: string[];
}

export interface RuleNotes {
  broken: { rule: string; problem: string }[];
  notes: string[];
}

export interface RuleVerdict {
  action: "allow" | "ask" | "deny";
  why: Localized;
  rule: string | null;
  broken: { rule: string; problem: string }[];
}

/** An adapter of ship.json, and how it stands with its platform. */
export interface Adapter {
  name: string;
  kind: string;
  member: string;
  state: "listening" | "trouble" | "elsewhere" | "off";
  since: string | null;
  trouble: string | null;
  lastEventAt: string | null;
}

/** A message that must be sent to a platform, or may have been. */
export interface Send {
  id: number;
  status: "waiting" | "sending" | "shown" | "sent" | "uncertain" | "held" | "failed" | "dropped";
  platform: string;
  threadId: string;
  text: string;
  createdAt: string;
  attempts: number;
  error: string | null;
  hasStray: boolean;
}

/** Somebody who was let in by a code. */
export interface Paired {
  id: string;
  name: string;
  person: string | null;
  at: string;
}

export interface WaitingCode {
  code: string;
  id: string;
  name: string;
  at: string;
  expiresAt: string;
}

export interface People {
  people: { person: string; ids: string[] }[];
  paired: Paired[];
  waiting: WaitingCode[];
}

/** A file that can be fetched by an address, which its message alone tells. */
export interface Shared {
  id: string;
  path: string;
  bytes: number;
  threadId: string;
  createdAt: string;
  expiresAt: string;
}

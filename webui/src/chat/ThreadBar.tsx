import { useState } from "react";
import { api } from "../api/api";
import { refreshThreads } from "../api/threads";
import { DrawerButton } from "../app/drawer";
import { go, messageLink } from "../app/route";
import { useMay, useSession } from "../app/session";
import { ChooseModel } from "../dialog/ChooseModel";
import { PinFact } from "../dialog/PinFact";
import { SavePriming } from "../dialog/SavePriming";
import { useT } from "../i18n";
import { useFormat } from "../i18n/format";
import { Confirm } from "../ui/Confirm";
import { IconButton } from "../ui/IconButton";
import { Menu } from "../ui/Menu";
import { say, sayError } from "../ui/toast";
import { messageText } from "./draft";
import { Platform } from "./Platform";
import type { ThreadState } from "./useThread";
import { RenameThread } from "../dialog/RenameThread";
import { ShareThread } from "../dialog/ShareThread";

interface Props {
  id: string;
  thread: ThreadState;
  memberId: string;
  memberName: string;
  isContextOpen: boolean;
  onContext: () => void;
}

export function ThreadBar({ id, thread, memberId, memberName, isContextOpen, onContext }: Props) {
  const t = useT();
  const format = useFormat();
  const [open, setOpen] = useState<"save" | "rename" | "delete" | "pin" | "model" | "share">();
  const { info } = thread;
  const { hasTeam } = useSession();
  const isMember = useMay("member");
  const isAdmin = useMay("admin");
  const close = () => setOpen(undefined);
  const change = (act: () => Promise<unknown>) => void act().catch(sayError).then(refreshThreads);
  // Until the server has named the thread, the first words said in it do.
  const first = thread.messages.find((message) => message.role === "user");
  const title = info?.title || (first && messageText(first).slice(0, 80)) || t("untitled");

  /** Gives the whole thread away, the part that is not on the page included. */
  const keep = async (how: "copy" | "md" | "json") => {
    try {
      const { threadMarkdown, threadJson, download } = await import("./exportThread");
      if (how === "json") return download(`${title}.json`, await threadJson(id), "application/json");
      const text = await threadMarkdown(id, { title, you: t("from.you"), member: memberName });
      if (how === "md") return download(`${title}.md`, text, "text/markdown");
      await navigator.clipboard.writeText(text);
      say(t("copied"));
    } catch (error) {
      sayError(error);
    }
  };

  return (
    <header className="bar">
      <DrawerButton />
      <div className="bar-title">
        <h1 className="truncate">{title}</h1>
        <div className="bar-sub">
          <span className="truncate">{memberName}</span>
          {info?.branchOf && (
            <a className="truncate" href={messageLink(info.branchOf.threadId, info.branchOf.messageId)}>
              {t("branch.of", { title: info.branchOf.title || t("untitled") })}
            </a>
          )}
          {info && <Platform name={info.platform} />}
          {info && info.tokenEstimate > 0 && (
            <span className="numeric wide-only">{t("tokens", { n: format.compact(info.tokenEstimate) })}</span>
          )}
          {info?.model && <span className="badge mono truncate">{info.model}</span>}
          {info?.planning && <span className="badge warn">{t("plan.open")}</span>}
          {info?.shared && <span className="badge">{t("share.shared")}</span>}
          {info?.archived && <span className="badge">{t("archived")}</span>}
        </div>
      </div>
      {isMember && <IconButton icon="layers" label={t("context")} aria-pressed={isContextOpen} onClick={onContext} />}
      {isAdmin && (
        <IconButton
          icon="save"
          label={t("priming.save")}
          disabled={thread.messages.length === 0 || thread.isBusy}
          onClick={() => setOpen("save")}
        />
      )}
      <Menu
        label={t("thread.more")}
        items={[
          { icon: "anchor", label: t("course.new"), onSelect: () => void thread.pins.openCourse() },
          { icon: "archive", label: t("course.compact"), onSelect: () => void thread.pins.compact() },
          { icon: "pin", label: t("pin"), onSelect: () => setOpen("pin") },
          ...(hasTeam && info?.mine ? [{ icon: "users" as const, label: t("share"), onSelect: () => setOpen("share") }] : []),
          ...(!isMember
            ? []
            : info?.planning
            ? [
                { icon: "check" as const, label: t("plan.go"), onSelect: () => change(() => api.changeThread(id, { plan: "go" })) },
                { icon: "cross" as const, label: t("plan.off"), onSelect: () => change(() => api.changeThread(id, { plan: "off" })) },
              ]
            : [{ icon: "list" as const, label: t("plan"), onSelect: () => change(() => api.changeThread(id, { plan: "open" })) }]),
          ...(isMember ? [{ icon: "spark" as const, label: t("model.thread"), onSelect: () => setOpen("model") }] : []),
          { icon: "copy", label: t("copy.markdown"), onSelect: () => void keep("copy") },
          { icon: "file", label: t("export.markdown"), onSelect: () => void keep("md") },
          { icon: "file", label: t("export.json"), onSelect: () => void keep("json") },
          { icon: "edit", label: t("rename"), onSelect: () => setOpen("rename") },
          {
            icon: "archive",
            label: t(info?.archived ? "unarchive" : "archive"),
            onSelect: () => change(() => api.changeThread(id, { archived: !info?.archived })),
          },
          { icon: "trash", label: t("delete"), onSelect: () => setOpen("delete"), danger: true },
        ]}
      />
      {open === "save" && <SavePriming threadId={id} member={memberId} onClose={close} />}
      {open === "pin" && <PinFact text="" onPin={(text) => void thread.pins.pin(text)} onClose={close} />}
      {open === "model" && <ChooseModel id={id} model={info?.model ?? null} onClose={close} />}
      {open === "share" && <ShareThread id={id} onClose={close} />}
      {open === "rename" && <RenameThread id={id} title={info?.title ?? ""} onClose={close} />}
      {open === "delete" && (
        <Confirm
          title={t("delete.title")}
          text={t("delete.text")}
          action={t("delete")}
          onClose={close}
          onConfirm={() => {
            close();
            change(() => api.binThread(id).then(() => go("")));
          }}
        />
      )}
    </header>
  );
}

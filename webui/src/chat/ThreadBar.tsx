import { useState } from "react";
import { api } from "../api/api";
import { refreshThreads } from "../api/threads";
import { DrawerButton } from "../app/drawer";
import { go } from "../app/route";
import { ChooseModel } from "../dialog/ChooseModel";
import { PinFact } from "../dialog/PinFact";
import { SavePriming } from "../dialog/SavePriming";
import { useT } from "../i18n";
import { useFormat } from "../i18n/format";
import { Confirm } from "../ui/Confirm";
import { IconButton } from "../ui/IconButton";
import { Menu } from "../ui/Menu";
import { sayError } from "../ui/toast";
import { messageText } from "./draft";
import { Platform } from "./Platform";
import type { ThreadState } from "./useThread";
import { RenameThread } from "../dialog/RenameThread";

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
  const [open, setOpen] = useState<"save" | "rename" | "delete" | "pin" | "model">();
  const { info } = thread;
  const close = () => setOpen(undefined);
  const change = (act: () => Promise<unknown>) => void act().catch(sayError).then(refreshThreads);
  // Until the server has named the thread, the first words said in it do.
  const first = thread.messages.find((message) => message.role === "user");
  const title = info?.title || (first && messageText(first).slice(0, 80)) || t("untitled");

  return (
    <header className="bar">
      <DrawerButton />
      <div className="bar-title">
        <h1 className="truncate">{title}</h1>
        <div className="bar-sub">
          <span className="truncate">{memberName}</span>
          {info && <Platform name={info.platform} />}
          {info && info.tokenEstimate > 0 && (
            <span className="numeric wide-only">{t("tokens", { n: format.compact(info.tokenEstimate) })}</span>
          )}
          {info?.model && <span className="badge mono truncate">{info.model}</span>}
          {info?.archived && <span className="badge">{t("archived")}</span>}
        </div>
      </div>
      <IconButton icon="layers" label={t("context")} aria-pressed={isContextOpen} onClick={onContext} />
      <IconButton
        icon="save"
        label={t("priming.save")}
        disabled={thread.messages.length === 0 || thread.isBusy}
        onClick={() => setOpen("save")}
      />
      <Menu
        label={t("thread.more")}
        items={[
          { icon: "anchor", label: t("course.new"), onSelect: () => void thread.pins.openCourse() },
          { icon: "pin", label: t("pin"), onSelect: () => setOpen("pin") },
          { icon: "spark", label: t("model.thread"), onSelect: () => setOpen("model") },
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

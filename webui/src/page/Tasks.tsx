import { useState } from "react";
import { api } from "../api/api";
import { useChange } from "../api/live";
import type { Occurrence, Task, TaskDetail } from "../api/types";
import { useCell, useLoad } from "../api/use";
import { link, go, useRoute } from "../app/route";
import { language, useT, type Word } from "../i18n";
import { useFormat } from "../i18n/format";
import { Confirm } from "../ui/Confirm";
import { Icon } from "../ui/Icon";
import { reveal } from "../ui/reveal";
import { Empty, Show } from "../ui/State";
import { say, sayError } from "../ui/toast";
import { FileEditor } from "./FileEditor";
import { NewTask } from "./NewTask";
import { Page } from "./Page";

const TONE: Record<Occurrence["status"], string> = {
  claimed: "accent",
  fired: "accent",
  replied: "good",
  quiet: "",
  suspended: "warn",
  stopped: "",
  failed: "bad",
  missed: "warn",
  uncertain: "bad",
};
const WHY = ["late", "still-running", "cut-off", "nobody-knows"];

export default function Tasks() {
  const t = useT();
  const chosen = useRoute().pieces[0];
  const [isNew, setNew] = useState(false);
  const tasks = useLoad(() => api.tasks(), "tasks");
  useChange(["files", "runs"], () => void tasks.reload());
  return (
    <Page
      title={t("nav.tasks")}
      about={t("tasks.about")}
      actions={
        <button type="button" className="button" onClick={() => setNew(true)}>
          <Icon name="plus" tiny />
          {t("tasks.new")}
        </button>
      }
    >
      <Show from={tasks}>
        {(data) => {
          const shown = data.tasks.find((task) => task.id === chosen) ?? data.tasks[0];
          return shown ? (
            <div className="split">
              <List tasks={data.tasks} shown={shown} />
              <Detail key={shown.id} id={shown.id} onChanged={() => void tasks.reload()} />
            </div>
          ) : (
            <Empty icon="clock" title={t("tasks.none")}>
              {t("tasks.none.text")}
            </Empty>
          );
        }}
      </Show>
      {isNew && (
        <NewTask
          taken={tasks.data?.tasks.map((task) => task.id) ?? []}
          onClose={() => setNew(false)}
          onMade={async (id) => {
            await tasks.reload();
            go("tasks", id);
            setNew(false);
          }}
        />
      )}
    </Page>
  );
}

function List({ tasks, shown }: { tasks: Task[]; shown: Task }) {
  const t = useT();
  const format = useFormat();
  const tellNext = (task: Task) => {
    const at = task.upcoming[0];
    if (!at) return t(`tasks.state.${task.state}`);
    return new Date(at).toDateString() === new Date().toDateString() ? format.time(at) : format.full(at);
  };
  return (
    <nav className="file-list" aria-label={t("nav.tasks")}>
      {tasks.map((task) => (
        <button key={task.id} type="button" aria-pressed={task.id === shown.id} onClick={() => go("tasks", task.id)}>
          <span className="truncate grow">{reveal(task.title)}</span>
          <span className="faint numeric">{tellNext(task)}</span>
        </button>
      ))}
    </nav>
  );
}

function Detail({ id, onChanged }: { id: string; onChanged: () => void }) {
  const detail = useLoad(() => api.task(id), id);
  useChange(["files", "runs"], () => void detail.reload());
  return (
    <Show from={detail}>
      {(data) => (
        <div className="stack">
          <Standing
            data={data}
            onGone={onChanged}
            onChanged={() => {
              void detail.reload();
              onChanged();
            }}
          />
          <Log occurrences={data.occurrences} />
          <FileEditor
            place={`task/${id}`}
            name={`.ship/tasks/${id}.md`}
            version={data.version}
            load={async () => {
              const { text, version } = await api.task(id);
              return { name: id, text, version };
            }}
            save={(text, version) => api.saveTask(id, text, version)}
            onSaved={onChanged}
          />
        </div>
      )}
    </Show>
  );
}

/** How a task stands: its next times, and what can be done with it. */
function Standing({ data, onChanged, onGone }: { data: TaskDetail; onChanged: () => void; onGone: () => void }) {
  const t = useT();
  const { task } = data;
  const chosen = useCell(language);
  const [isAsking, setAsking] = useState(false);
  const act = async (work: () => Promise<unknown>, then = onChanged) => {
    try {
      await work();
      then();
    } catch (error) {
      sayError(error);
    }
  };
  const isWhole = task.state !== "broken";
  const threadId = data.occurrences.find((each) => each.threadId)?.threadId;
  return (
    <section className="card task-card" aria-label={task.title}>
      <div className="row wrap">
        <span className={`badge ${task.state === "waiting" ? "accent" : task.state === "broken" ? "bad" : ""}`}>
          {t(`tasks.state.${task.state}`)}
        </span>
        {task.when && <code>{reveal(task.when)}</code>}
        {task.zone && <span className="faint">{reveal(task.zone)}</span>}
        {task.deliver.length > 0 && <span className="faint">{t("tasks.deliver", { places: reveal(task.deliver.join(", ")) })}</span>}
      </div>
      {task.problem && (
        <p className="note bad" role="alert">
          <Icon name="alert" />
          {reveal(task.problem[chosen])}
        </p>
      )}
      {isWhole && <Upcoming task={task} />}
      <div className="row wrap">
        {isWhole && (
          <>
            <button
              type="button"
              className="button small primary"
              onClick={() => void act(async () => api.beginTask(task.id).then(() => say(t("tasks.begun", { name: task.title }))))}
            >
              {t("tasks.run")}
            </button>
            <button type="button" className="button small" onClick={() => void act(() => api.switchTask(task.id, task.state === "paused"))}>
              {t(task.state === "paused" ? "tasks.resume" : "tasks.pause")}
            </button>
          </>
        )}
        {threadId && <a href={link("t", threadId)}>{t("tasks.open")}</a>}
        <span className="grow" />
        <button type="button" className="button small danger" onClick={() => setAsking(true)}>
          {t("tasks.delete")}
        </button>
      </div>
      {isAsking && (
        <Confirm
          title={t("tasks.delete.title", { name: task.title })}
          text={t("tasks.delete.text")}
          action={t("tasks.delete")}
          onClose={() => setAsking(false)}
          onConfirm={() => {
            setAsking(false);
            void act(() => api.deleteTask(task.id, data.version), onGone);
          }}
        />
      )}
    </section>
  );
}

/** The next times of a task by the reader's clock. */
export function Upcoming({ task }: { task: Task }) {
  const t = useT();
  const format = useFormat();
  if (task.upcoming.length === 0) return <p className="faint">{t("tasks.next.none")}</p>;
  return (
    <div>
      <strong>{t("tasks.next")}</strong>
      <ul className="task-times numeric">
        {task.upcoming.map((at) => (
          <li key={at}>
            <time dateTime={at}>{format.full(at)}</time>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Log({ occurrences }: { occurrences: Occurrence[] }) {
  const t = useT();
  const format = useFormat();
  const why = (told: string) => (WHY.includes(told) ? t(`tasks.why.${told}` as Word) : told);
  return (
    <section aria-label={t("tasks.log")}>
      <h2>{t("tasks.log")}</h2>
      {occurrences.length === 0 && <p className="faint">{t("tasks.log.none")}</p>}
      <ul className="task-log">
        {occurrences.map((each) => (
          <li key={each.due}>
            <time className="faint numeric" dateTime={each.due}>
              {format.full(each.due)}
              {each.until && ` – ${format.full(each.until)}`}
            </time>
            <span className={`badge ${TONE[each.status]}`}>{t(`tasks.status.${each.status}`)}</span>
            <span className="muted">
              {[each.byHand && t("tasks.hand"), each.until && each.count !== 0 && t("tasks.times", { n: each.count ?? 1 }), each.why && reveal(why(each.why))]
                .filter(Boolean)
                .join(" · ")}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

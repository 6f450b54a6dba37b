import { useState } from "react";
import type { ContextInfo, ContextRow, RowGroup } from "../api/types";
import { useT, type Word } from "../i18n";
import { useFormat } from "../i18n/format";
import { useReason } from "../i18n/reason";
import { CopyButton } from "../ui/CopyButton";
import { Icon } from "../ui/Icon";
import { sayError } from "../ui/toast";
import { StackedBar, type Segment } from "./StackedBar";

// The seventh and eighth colours are kept for history and tools.
const COLOURS = 6;
const STABILITY: Record<string, Word> = {
  stable: "stability.stable",
  slow: "stability.slow",
  volatile: "stability.volatile",
};

type Earlier = (before: number) => Promise<RowGroup>;

function segmentsOf(context: ContextInfo, words: { tools: string; history: string }, say: (title: string) => string): Segment[] {
  const sections = context.sections.map((section, index) => ({
    key: `section:${section.name}`,
    label: say(section.title || section.name),
    tokens: section.tokens,
    colour: (index % COLOURS) + 1,
  }));
  return [
    ...sections,
    { key: "tools", label: words.tools, tokens: context.tools.tokens, colour: 8 },
    { key: "history", label: words.history, tokens: context.history.tokens, colour: 7 },
  ].filter((segment) => segment.tokens > 0);
}

/** What a model reads: one row for each section, one for the tools and one for the history; all of them open. */
export function ContextView({ context, onEarlier }: { context: ContextInfo; onEarlier: Earlier }) {
  const t = useT();
  const format = useFormat();
  const reason = useReason();
  const [open, setOpen] = useState<string>();
  const segments = segmentsOf(context, { tools: t("context.tools"), history: t("context.history") }, reason);
  const toggle = (key: string) => setOpen((now) => (now === key ? undefined : key));
  const { window: room, totalTokens } = context;
  return (
    <>
      <div>
        <p className="context-total">
          <strong className="numeric">{t("tokens", { n: format.number(totalTokens) })}</strong>
          <span className="faint">
            {t("context.estimated")} · {t("context.profile", { name: context.profile })}
          </span>
        </p>
        {room !== null && (
          <p className="context-window fine">
            <meter min={0} max={room} value={Math.min(room, totalTokens)} aria-hidden="true" />
            {t("context.window", {
              share: `${Math.ceil((totalTokens / room) * 1000) / 10} %`,
              n: format.number(room),
              model: context.model,
            })}
          </p>
        )}
      </div>
      <StackedBar segments={segments} stableTokens={context.stableTokens} open={open} onOpen={toggle} />
      <ul className="sections">
        {segments.map((segment) => {
          const section = context.sections.find((one) => `section:${one.name}` === segment.key);
          const isOpen = open === segment.key;
          return (
            <li key={segment.key}>
              <button type="button" className="section-head" aria-expanded={isOpen} onClick={() => toggle(segment.key)}>
                <i className={`swatch plot-${segment.colour}`} />
                <span className="truncate grow">{segment.label}</span>
                <span className="numeric faint">{format.number(segment.tokens)}</span>
                <Icon name="chevron" tiny />
              </button>
              {isOpen && section && <SectionBody section={section} />}
              {isOpen && segment.key === "tools" && <Rows rows={context.tools.items} />}
              {isOpen && segment.key === "history" && <History group={context.history} onEarlier={onEarlier} />}
            </li>
          );
        })}
      </ul>
      {context.leftOut.length > 0 && (
        <details className="fold">
          <summary>
            {t("context.leftOut", { n: context.leftOut.length })}
            <Icon name="chevron" tiny />
          </summary>
          <ul className="left-out">
            {context.leftOut.map((section) => (
              <li key={section.name}>
                <strong>{reason(section.title || section.name)}</strong> <span className="faint">{reason(section.reason)}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function SectionBody({ section }: { section: ContextRow }) {
  const t = useT();
  const reason = useReason();
  const format = useFormat();
  return (
    <div className="section-body">
      <dl className="facts">
        <dt>{t("context.reason")}</dt>
        <dd>{reason(section.reason)}</dd>
        {section.source && (
          <>
            <dt>{t("context.source")}</dt>
            <dd className="mono">{section.source}</dd>
          </>
        )}
        <dt>{t("context.cost")}</dt>
        <dd className="numeric">
          {t("tokens", { n: format.number(section.tokens) })} · {format.bytes(section.bytes)}
        </dd>
        <dt>{t("context.stability")}</dt>
        <dd>{t(STABILITY[section.stability] ?? "stability.slow")}</dd>
      </dl>
      <RowText row={section} />
    </div>
  );
}

function RowText({ row }: { row: ContextRow }) {
  const t = useT();
  if (!row.isKnown) return <p className="note warn">{t("context.gone")}</p>;
  return (
    <div className="data">
      <div className="data-head">
        <span>{t("context.text")}</span>
        <CopyButton text={row.text} />
      </div>
      <pre tabIndex={0}>{row.text}</pre>
    </div>
  );
}

/** The messages the model read, the latest ones first to hand. */
function History({ group, onEarlier }: { group: RowGroup; onEarlier: Earlier }) {
  const t = useT();
  const [rows, setRows] = useState(group.items);
  const [from, setFrom] = useState(group.from);
  const more = async () => {
    const earlier = await onEarlier(from);
    setRows((now) => [...earlier.items, ...now]);
    setFrom(earlier.from);
  };
  return (
    <>
      {from > 1 && (
        <button type="button" className="button small quiet" onClick={() => void more().catch(sayError)}>
          {t("context.earlier")}
        </button>
      )}
      <Rows rows={rows} isHistory />
    </>
  );
}

/** Tools by their name, or messages by their number and the side that wrote them; each opens to its text. */
function Rows({ rows, isHistory }: { rows: ContextRow[]; isHistory?: boolean }) {
  const t = useT();
  const format = useFormat();
  return (
    <ul className="section-body rows">
      {rows.map((row) => (
        <li key={row.name}>
          <Fold
            head={
              <>
                {isHistory ? (
                  <>
                    <span className="faint numeric">{row.name}</span>
                    <span className="faint row-side">{t(row.title === "assistant" ? "context.side.assistant" : "context.side.user")}</span>
                    <span className="truncate grow">{row.text.slice(0, 200)}</span>
                  </>
                ) : (
                  <span className="mono truncate grow">{row.name}</span>
                )}
                <span className="numeric faint">{format.number(row.tokens)}</span>
              </>
            }
          >
            <RowText row={row} />
          </Fold>
        </li>
      ))}
    </ul>
  );
}

/** A line that opens; what is inside is made when it does. */
function Fold({ head, children }: { head: React.ReactNode; children: React.ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="row-head" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {head}
        <Icon name="chevron" tiny />
      </button>
      {isOpen && children}
    </>
  );
}

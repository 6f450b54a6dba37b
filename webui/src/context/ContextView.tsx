import { useState } from "react";
import type { ContextInfo, Section } from "../api/types";
import { useT, type Word } from "../i18n";
import { useFormat } from "../i18n/format";
import { CopyButton } from "../ui/CopyButton";
import { Icon } from "../ui/Icon";
import { StackedBar, type Segment } from "./StackedBar";

// The seventh and eighth colours are kept for history and tools.
const COLOURS = 6;
const STABILITY: Record<string, Word> = {
  stable: "stability.stable",
  slow: "stability.slow",
  volatile: "stability.volatile",
};

function segmentsOf(context: ContextInfo, words: { tools: string; history: string }): Segment[] {
  const sections = context.sections
    .filter((section) => section.included)
    .map((section, index) => ({
      key: `section:${section.name}`,
      label: section.title || section.name,
      bytes: section.bytes,
      tokens: section.tokens,
      colour: (index % COLOURS) + 1,
    }));
  return [
    ...sections,
    { key: "tools", label: words.tools, ...pick(context.tools), colour: 8 },
    { key: "history", label: words.history, ...pick(context.history), colour: 7 },
  ].filter((segment) => segment.bytes > 0);
}

function pick({ bytes, tokens }: { bytes: number; tokens: number }) {
  return { bytes, tokens };
}

export function ContextView({ context }: { context: ContextInfo }) {
  const t = useT();
  const format = useFormat();
  const [open, setOpen] = useState<string>();
  const segments = segmentsOf(context, { tools: t("context.tools"), history: t("context.history") });
  const leftOut = context.sections.filter((section) => !section.included);
  const toggle = (key: string) => setOpen((now) => (now === key ? undefined : key));
  return (
    <>
      <p className="context-total">
        <strong className="numeric">{t("tokens", { n: format.number(context.totalTokens) })}</strong>
        <span className="faint numeric">
          {format.bytes(context.totalBytes)} · {t("context.profile", { name: context.profile })}
        </span>
      </p>
      <StackedBar segments={segments} stableBytes={context.stableBytes} open={open} onOpen={toggle} />
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
              {isOpen && segment.key === "tools" && <ToolsBody tools={context.tools} />}
              {isOpen && segment.key === "history" && (
                <p className="section-body faint">
                  {t("context.history.text", { n: context.history.messages, bytes: format.bytes(context.history.bytes) })}
                </p>
              )}
            </li>
          );
        })}
      </ul>
      {leftOut.length > 0 && (
        <details className="fold">
          <summary>
            {t("context.leftOut", { n: leftOut.length })}
            <Icon name="chevron" tiny />
          </summary>
          <ul className="left-out">
            {leftOut.map((section) => (
              <li key={section.name}>
                <strong>{section.title || section.name}</strong> <span className="faint">{section.reason}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function SectionBody({ section }: { section: Section }) {
  const t = useT();
  const format = useFormat();
  return (
    <div className="section-body">
      <dl className="facts">
        <dt>{t("context.reason")}</dt>
        <dd>{section.reason}</dd>
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
      <div className="data">
        <div className="data-head">
          <span>{t("context.text")}</span>
          <CopyButton text={section.text} />
        </div>
        <pre tabIndex={0}>{section.text}</pre>
      </div>
    </div>
  );
}

function ToolsBody({ tools }: { tools: ContextInfo["tools"] }) {
  const format = useFormat();
  return (
    <ul className="section-body tool-costs">
      {tools.items.map((tool) => (
        <li key={tool.name}>
          <span className="mono grow">{tool.name}</span>
          <span className="numeric faint">{format.number(tool.tokens)}</span>
          <span className="numeric faint">{format.bytes(tool.bytes)}</span>
        </li>
      ))}
    </ul>
  );
}

import { useT } from "../i18n";
import { useFormat } from "../i18n/format";

export interface Segment {
  key: string;
  label: string;
  tokens: number;
  colour: number;
}

interface Props {
  segments: Segment[];
  stableTokens: number;
  open: string | undefined;
  onOpen: (key: string) => void;
}

/** One bar of everything the model reads, in order; the mark shows how far a provider's prompt cache can reach. */
export function StackedBar({ segments, stableTokens, open, onOpen }: Props) {
  const t = useT();
  const format = useFormat();
  const total = segments.reduce((sum, segment) => sum + segment.tokens, 0) || 1;
  const boundary = Math.min(100, (stableTokens / total) * 100);
  return (
    <div className="stack-bar">
      {/* The rows below say the same to those who cannot see or hit so small a thing. */}
      <div className="stack-segments" aria-hidden="true">
        {segments.map((segment) => (
          <span
            key={segment.key}
            className={`plot-${segment.colour}${open === segment.key ? " chosen" : ""}`}
            style={{ flexGrow: segment.tokens }}
            title={`${segment.label}: ${t("tokens", { n: format.number(segment.tokens) })}`}
            onClick={() => onOpen(segment.key)}
          />
        ))}
      </div>
      {stableTokens > 0 && (
        <>
          <div className="stack-boundary" style={{ left: `${boundary}%` }} aria-hidden="true" />
          <p className="stack-note" style={{ paddingLeft: `max(0px, min(${boundary}%, calc(100% - 24em)))` }}>
            <span aria-hidden="true">↑ </span>
            {t("context.cache", { n: format.number(stableTokens) })}
          </p>
        </>
      )}
    </div>
  );
}

import { useState } from "react";
import { api } from "../api/api";
import type { Usage as UsageData, UsageRow } from "../api/types";
import { useLoad } from "../api/use";
import { useT } from "../i18n";
import { useFormat } from "../i18n/format";
import { Empty, Show } from "../ui/State";
import { BarPlot } from "./BarPlot";
import { Page } from "./Page";

export default function Usage() {
  const t = useT();
  const [days, setDays] = useState(30);
  const usage = useLoad(() => api.usage(days), String(days));
  const range = (
    <div className="segmented" role="group" aria-label={t("usage.range")}>
      {[7, 30, 90].map((count) => (
        <button key={count} type="button" aria-pressed={days === count} onClick={() => setDays(count)}>
          {t("usage.days", { n: count })}
        </button>
      ))}
    </div>
  );
  return (
    <Page title={t("nav.usage")} actions={range}>
      <Show from={usage}>{(data) => (data.total.requests === 0 ? <Empty icon="chart" title={t("usage.none")} /> : <Figures usage={data} days={days} />)}</Show>
    </Page>
  );
}

/** Gives every day of the range a place, also those without use. */
function fill(rows: UsageRow[], days: number): UsageRow[] {
  const byDay = new Map(rows.map((row) => [row.day, row]));
  const now = Date.now();
  return Array.from({ length: days }, (_, index) => {
    const day = new Date(now - (days - 1 - index) * 86_400_000).toISOString().slice(0, 10);
    return byDay.get(day) ?? { day, requests: 0, inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cost: 0 };
  });
}

function Figures({ usage, days }: { usage: UsageData; days: number }) {
  const t = useT();
  const format = useFormat();
  const rows = fill(usage.days, days);
  const label = (row: UsageRow) => row.day?.slice(5) ?? "";
  const { total } = usage;
  return (
    <>
      <dl className="tiles">
        <Tile name={t("usage.requests")} value={format.number(total.requests)} />
        <Tile name={t("usage.input")} value={format.compact(total.inputTokens)} />
        <Tile name={t("usage.output")} value={format.compact(total.outputTokens)} />
        <Tile name={t("usage.cache")} value={format.compact(total.cacheReadTokens)} />
        <Tile name={t("usage.cost")} value={format.money(total.cost)} />
      </dl>
      <BarPlot
        title={t("usage.tokens")}
        bars={rows.map((row) => ({ label: label(row), values: [row.inputTokens, row.outputTokens] }))}
        series={[t("usage.input"), t("usage.output")]}
        show={format.compact}
      />
      {(total.cost ?? 0) > 0 && (
        <BarPlot
          title={t("usage.cost")}
          bars={rows.map((row) => ({ label: label(row), values: [row.cost ?? 0] }))}
          series={[t("usage.cost")]}
          show={format.money}
        />
      )}
      {usage.budget.map((each) => {
        const show = each.unit === "money" ? format.money : (value: number) => `${format.compact(value)} token`;
        return (
          <p key={`${each.period} ${each.unit} ${each.member}`} className={each.state === "free" ? "faint" : undefined}>
            {t(`usage.budget.${each.period}`, { whose: each.member && ` (${each.member})`, spent: show(each.spent), limit: show(each.limit) })}
          </p>
        );
      })}
      {total.cost === null && <p className="faint">{t("usage.unpriced", { n: total.unpriced ?? 0, of: total.requests })}</p>}
      <Groups usage={usage} />
    </>
  );
}

const GROUPS = { model: "models", member: "members", thread: "threads", day: "days" } as const;
type Grouping = keyof typeof GROUPS;
const COUNTS = ["requests", "inputTokens", "cacheReadTokens", "outputTokens"] as const;
const HEADS = ["usage.requests", "usage.input", "usage.cache", "usage.output", "usage.cost"] as const;

function Groups({ usage }: { usage: UsageData }) {
  const t = useT();
  const format = useFormat();
  const [by, setBy] = useState<Grouping>("model");
  const rows = usage[GROUPS[by]];
  const most = Math.max(...rows.map(tokensOf), 1);
  const save = (kind: "csv" | "json") =>
    void import("../chat/exportThread").then(({ download }) =>
      kind === "csv"
        ? download(`usage-${by}.csv`, writeCsv(by, rows), "text/csv")
        : download(`usage-${by}.json`, JSON.stringify(rows, null, 2), "application/json"),
    );
  return (
    <section>
      <div className="row usage-groups">
        <div className="segmented" role="group" aria-label={t("usage.by")}>
          {(Object.keys(GROUPS) as Grouping[]).map((each) => (
            <button key={each} type="button" aria-pressed={by === each} onClick={() => setBy(each)}>
              {t(`usage.by.${each}`)}
            </button>
          ))}
        </div>
        <button type="button" className="button" onClick={() => save("csv")}>
          CSV
        </button>
        <button type="button" className="button" onClick={() => save("json")}>
          JSON
        </button>
      </div>
      <div className="table" tabIndex={0}>
        <table className="data-table">
          <thead>
            <tr>
              <th>{t(`usage.by.${by}`)}</th>
              {HEADS.map((head) => (
                <th key={head} className="align-right">
                  {t(head)}
                </th>
              ))}
              <th aria-hidden="true" />
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row[by]}>
                <td className="mono">{by === "thread" ? <a href={`#/t/${encodeURIComponent(row.thread ?? "")}`}>{row.thread}</a> : row[by]}</td>
                {COUNTS.map((count) => (
                  <td key={count} className="align-right numeric">
                    {format.number(row[count])}
                  </td>
                ))}
                <td className="align-right numeric">{format.money(row.cost)}</td>
                <td aria-hidden="true">
                  <svg className="usage-bar" viewBox="0 0 100 8" preserveAspectRatio="none">
                    <rect className="plot-fill-1" width={(100 * tokensOf(row)) / most} height={8} rx={1.5} />
                  </svg>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

const tokensOf = (row: UsageRow) => row.inputTokens + row.outputTokens;

/** Writes rows for a spreadsheet; a name that it would compute is marked as text. */
function writeCsv(by: Grouping, rows: UsageRow[]): string {
  const quote = (text: string) => `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
  const lines = rows.map((row) => [quote(row[by] ?? ""), ...COUNTS.map((count) => row[count]), row.cost ?? ""].join(","));
  return `${[[by, ...COUNTS, "cost"].join(","), ...lines].join("\n")}\n`;
}

function Tile({ name, value }: { name: string; value: string }) {
  return (
    <div className="tile">
      <dt>{name}</dt>
      <dd className="numeric">{value}</dd>
    </div>
  );
}

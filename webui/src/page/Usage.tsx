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
      <h2>{t("usage.models")}</h2>
      <div className="table" tabIndex={0}>
        <table className="data-table">
          <thead>
            <tr>
              <th>{t("model")}</th>
              <th className="align-right">{t("usage.requests")}</th>
              <th className="align-right">{t("usage.input")}</th>
              <th className="align-right">{t("usage.output")}</th>
              <th className="align-right">{t("usage.cost")}</th>
            </tr>
          </thead>
          <tbody>
            {usage.models.map((row) => (
              <tr key={row.model}>
                <td className="mono">{row.model}</td>
                <td className="align-right numeric">{format.number(row.requests)}</td>
                <td className="align-right numeric">{format.number(row.inputTokens)}</td>
                <td className="align-right numeric">{format.number(row.outputTokens)}</td>
                <td className="align-right numeric">{format.money(row.cost)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function Tile({ name, value }: { name: string; value: string }) {
  return (
    <div className="tile">
      <dt>{name}</dt>
      <dd className="numeric">{value}</dd>
    </div>
  );
}

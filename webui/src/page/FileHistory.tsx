import type { FileVersion } from "../api/types";
import { useLoad } from "../api/use";
import { useT } from "../i18n";
import { useFormat } from "../i18n/format";
import { Empty, Show } from "../ui/State";

interface Props {
  name: string;
  load: () => Promise<{ versions: FileVersion[] }>;
  onRestore: (text: string) => void;
}

/** The earlier texts of a file, each of which can be taken into the editor again. */
export function FileHistory({ name, load, onRestore }: Props) {
  const t = useT();
  const format = useFormat();
  const found = useLoad(load, name);
  return (
    <Show from={found}>
      {({ versions }) =>
        versions.length === 0 ? (
          <Empty icon="clock" title={t("history.none")} />
        ) : (
          <ul className="cards">
            {versions.map((one) => (
              <li key={one.version}>
                <details className="card">
                  <summary className="row">
                    <span className="grow">{format.full(one.at)}</span>
                    <span className="faint numeric">{format.bytes(one.bytes)}</span>
                  </summary>
                  <pre tabIndex={0}>{one.text}</pre>
                  <button type="button" className="button small" onClick={() => onRestore(one.text)}>
                    {t("history.take")}
                  </button>
                </details>
              </li>
            ))}
          </ul>
        )
      }
    </Show>
  );
}

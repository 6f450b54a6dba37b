import type { Deviation, RehearsalPiece, RehearsalTurn } from "../api/types";
import { useT, type Word } from "../i18n";
import { useReason } from "../i18n/reason";
import { Icon } from "../ui/Icon";
import { diffWords, type Stretch } from "./wordDiff";

/** A piece in the row it stands in; what it says, with what differs marked. */
interface Placed {
  piece: RehearsalPiece;
  row: number;
  differs: boolean;
  stretches: Stretch[];
}

/** One turn of a rehearsal: what was recorded and what was said now, each piece beside its counterpart. */
export function PrimingTurn({ turn, number }: { turn: RehearsalTurn; number: number }) {
  const t = useT();
  const reason = useReason();
  const isSame = turn.deviations.length === 0 && !turn.stopped;
  const [recorded, now] = placePieces(turn);
  return (
    <details className="card rehearsal-turn" open={!isSame}>
      <summary className="row">
        <strong className="truncate grow">
          {number}. {turn.said}
        </strong>
        <span className={`badge ${isSame ? "good" : "bad"}`}>{isSame ? t("rehearsal.same") : t("rehearsal.deviations", { n: turn.deviations.length })}</span>
      </summary>
      <div className="rehearsal-sides">
        <Side side="recorded" pieces={recorded} />
        <Side side="new" pieces={now} />
      </div>
      {turn.stopped && !turn.deviations.some((one) => one.reason === turn.stopped) && <p className="note bad">{reason(turn.stopped)}</p>}
      {turn.deviations.length > 0 && (
        <ul className="rehearsal-why">
          {turn.deviations.map((one, index) => (
            <li key={index}>
              <span className="badge bad">{t(`deviation.${one.kind}` as Word)}</span> {reason(one.reason)}
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}

function Side({ side, pieces }: { side: "recorded" | "new"; pieces: Placed[] }) {
  const t = useT();
  const title = t(`rehearsal.${side}`);
  return (
    <section className={`rehearsal-side ${side}`} aria-label={title}>
      <h3>{title}</h3>
      {pieces.length === 0 && (
        <p className="faint">
          <strong className="rehearsal-whose">{title}: </strong>
          {t("rehearsal.nothing")}
        </p>
      )}
      <ol>
        {pieces.map(({ piece, row, differs, stretches }, index) => (
          <li key={index} className={differs ? "differs" : ""} style={{ "--row": row } as React.CSSProperties}>
            <p className="rehearsal-kind">
              {differs && <Icon name="alert" tiny />}
              <strong className="rehearsal-whose">{title}</strong>
              {t(`piece.${piece.kind}`)} {piece.name && <span className="mono">{piece.name}</span>}
            </p>
            <pre tabIndex={0}>
              {stretches.map((one, at) => (one.isSame ? one.text : side === "recorded" ? <del key={at}>{one.text}</del> : <ins key={at}>{one.text}</ins>))}
            </pre>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** Puts pieces that belong together into one row, in the order of both answers. */
function placePieces(turn: RehearsalTurn): [Placed[], Placed[]] {
  const recorded: Placed[] = [];
  const now: Placed[] = [];
  let row = 0;
  for (const [mine, theirs] of pairPieces(turn)) {
    row++;
    const [left, right] = mine && theirs && !isEqual(mine, theirs) ? diffWords(write(mine), write(theirs)) : [undefined, undefined];
    if (mine) recorded.push(place(mine, row, isNamed(mine, turn.deviations, "recorded"), left));
    if (theirs) now.push(place(theirs, row, isNamed(theirs, turn.deviations, "new"), right));
  }
  return [recorded, now];
}

function place(piece: RehearsalPiece, row: number, differs: boolean, stretches: Stretch[] | undefined): Placed {
  // What is expected to vary is not marked.
  const shown = differs && stretches ? stretches : [{ text: write(piece), isSame: true }];
  return { piece, row, differs, stretches: shown };
}

const isEqual = (left: RehearsalPiece, right: RehearsalPiece) => JSON.stringify(left) === JSON.stringify(right);

/** Returns whether a deviation is about this piece; words that follow each other are compared as one. */
function isNamed(piece: RehearsalPiece, deviations: Deviation[], side: "recorded" | "new"): boolean {
  return deviations.some((one) => {
    const named = one[side];
    if (!named) return false;
    const isPartOf = named.kind === "words" && piece.kind === "words" && !!piece.text && !!named.text?.includes(piece.text);
    return isEqual(named, piece) || isPartOf;
  });
}

type Pair = [RehearsalPiece | undefined, RehearsalPiece | undefined];

/** Aligns two answers so that most stands beside its like: the same piece before one of its kind. */
function pairPieces({ recorded, new: now, deviations }: RehearsalTurn): Pair[] {
  const weigh = (mine: RehearsalPiece, theirs: RehearsalPiece): number => {
    if (isEqual(mine, theirs)) return 5;
    const isTold = deviations.some((one) => one.kind !== "order" && one.recorded && one.new && isEqual(one.recorded, mine) && isEqual(one.new, theirs));
    if (isTold) return 4;
    return mine.kind === theirs.kind ? (mine.name === theirs.name ? 3 : 2) : isOutcome(mine) && isOutcome(theirs) ? 1 : 0;
  };
  const best: number[][] = Array.from({ length: recorded.length + 1 }, () => Array<number>(now.length + 1).fill(0));
  const at = (row: number, column: number) => best[row]?.[column] ?? 0;
  const together = (row: number, column: number) => {
    const weight = weigh(recorded[row]!, now[column]!);
    return weight > 0 ? weight + at(row + 1, column + 1) : -1;
  };
  for (let row = recorded.length - 1; row >= 0; row--) {
    for (let column = now.length - 1; column >= 0; column--) {
      best[row]![column] = Math.max(together(row, column), at(row + 1, column), at(row, column + 1));
    }
  }
  const pairs: Pair[] = [];
  let [row, column] = [0, 0];
  while (row < recorded.length || column < now.length) {
    const isBoth = row < recorded.length && column < now.length;
    if (isBoth && together(row, column) === at(row, column)) pairs.push([recorded[row++], now[column++]]);
    else if (column >= now.length || (isBoth && at(row + 1, column) >= at(row, column + 1))) pairs.push([recorded[row++], undefined]);
    else pairs.push([undefined, now[column++]]);
  }
  return pairs;
}

const isOutcome = (piece: RehearsalPiece) => ["result", "error", "denial"].includes(piece.kind);

function write(piece: RehearsalPiece): string {
  if (piece.text) return piece.text;
  return piece.value === undefined || piece.value === null ? "" : JSON.stringify(piece.value, null, 2);
}

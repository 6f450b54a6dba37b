import { align } from "./wordDiff";

/** Lines around a change that are shown with it. */
const AROUND = 3;

interface Line {
  sign: " " | "+" | "-";
  text: string;
  /** Where it stands in both texts. */
  left: number;
  right: number;
}

function compare(left: string[], right: string[]): Line[] {
  const [isLeft, isRight] = align(left, right);
  const lines: Line[] = [];
  for (let mine = 0, theirs = 0; mine < left.length || theirs < right.length; ) {
    const place = { left: mine, right: theirs };
    if (mine < left.length && !isLeft[mine]) lines.push({ sign: "-", text: left[mine++] ?? "", ...place });
    else if (theirs < right.length && !isRight[theirs]) lines.push({ sign: "+", text: right[theirs++] ?? "", ...place });
    else {
      lines.push({ sign: " ", text: left[mine++] ?? "", ...place });
      theirs++;
    }
  }
  return lines;
}

/** Writes what makes the right text of the left one as a unified diff; nothing when they are equal. */
export function diffLines(left: string, right: string): string {
  const lines = compare(left.split("\n"), right.split("\n"));
  const isNear = lines.map((_, at) => lines.slice(Math.max(0, at - AROUND), at + AROUND + 1).some((line) => line.sign !== " "));
  const shown: string[] = [];
  for (const [at, line] of lines.entries()) {
    if (!isNear[at]) continue;
    if (!isNear[at - 1]) shown.push(`@@ -${line.left + 1} +${line.right + 1} @@`);
    shown.push(line.sign + line.text);
  }
  return shown.join("\n");
}

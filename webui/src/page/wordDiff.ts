/** A stretch of a text, and whether the other text has it too. */
export interface Stretch {
  text: string;
  isSame: boolean;
}

// A word, a blank, or one sign; Chinese has no blanks between words, so each character counts.
const PIECE = /[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{N}_]+|\s+|[\s\S]/gu;
/** Comparing takes the product of both lengths; above it only what both begin and end with is the same. */
const LIMIT = 1_000_000;

/** Marks in two texts which words the other one does not have. */
export function diffWords(left: string, right: string): [Stretch[], Stretch[]] {
  const [mine, theirs] = [left.match(PIECE) ?? [], right.match(PIECE) ?? []];
  const [common, others] = align(mine, theirs);
  return [join(mine, common), join(theirs, others)];
}

/** Returns of each piece of two texts whether the other one has it too, in the same order. */
export function align(mine: string[], theirs: string[]): [boolean[], boolean[]] {
  let start = 0;
  while (start < mine.length && start < theirs.length && mine[start] === theirs[start]) start++;
  let end = 0;
  while (end < mine.length - start && end < theirs.length - start && mine.at(-1 - end) === theirs.at(-1 - end)) end++;
  const [common, others] = alignWords(mine.slice(start, mine.length - end), theirs.slice(start, theirs.length - end));
  const around = (inner: boolean[]) => [...Array<boolean>(start).fill(true), ...inner, ...Array<boolean>(end).fill(true)];
  return [around(common), around(others)];
}

/** Returns of each word whether it is part of the longest common sequence. */
function alignWords(mine: string[], theirs: string[]): [boolean[], boolean[]] {
  const common = mine.map(() => false);
  const others = theirs.map(() => false);
  if (mine.length * theirs.length > LIMIT) return [common, others];
  const width = theirs.length + 1;
  const lengths = new Uint32Array((mine.length + 1) * width);
  const at = (row: number, column: number) => lengths[row * width + column] ?? 0;
  for (let row = mine.length - 1; row >= 0; row--) {
    for (let column = theirs.length - 1; column >= 0; column--) {
      lengths[row * width + column] =
        mine[row] === theirs[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  for (let row = 0, column = 0; row < mine.length && column < theirs.length; ) {
    if (mine[row] === theirs[column]) common[row++] = others[column++] = true;
    else if (at(row + 1, column) >= at(row, column + 1)) row++;
    else column++;
  }
  return [common, others];
}

/** Puts words of a kind together; a blank between two words that differ differs with them. */
function join(words: string[], common: boolean[]): Stretch[] {
  const stretches: Stretch[] = [];
  const isSameAt = (at: number) => common[at] ?? true;
  for (const [at, text] of words.entries()) {
    const isBridge = /^\s+$/.test(text) && at > 0 && at < words.length - 1 && !isSameAt(at - 1) && !isSameAt(at + 1);
    const isSame = isSameAt(at) && !isBridge;
    const last = stretches.at(-1);
    if (last?.isSame === isSame) last.text += text;
    else stretches.push({ text, isSame });
  }
  return stretches;
}

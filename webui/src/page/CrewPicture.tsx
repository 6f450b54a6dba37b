import { useEffect, useRef, useState } from "react";
import type { Crew, CrewMember, CrewRelation } from "../api/types";
import { colourOf } from "../chat/Crew";
import { useT } from "../i18n";
import { meaning, pairsOf, useRelationWord } from "./CrewRelations";

const RADIUS = 15;
const GAP = 8;
/** Room for a name beside the ring. */
const MARGIN = 112;
const TOP = 46;
const NARROW = 480;
/** The words of more lines than these are read in the table, or one member at a time; an arrow needs none. */
const LABELLED = 8;
/** Where a word stands on its line: in the middle lines cross. */
const ALONG = 0.38;
const LETTERS = 12;
const FIRST_WIDTH = 640;

interface Point {
  x: number;
  y: number;
}

interface Node extends Point {
  member: CrewMember;
  cos: number;
  sin: number;
}

interface Line {
  row: CrewRelation;
  from: Node;
  to: Node;
  isOrder: boolean;
}

/** The members as a ring, and lines between those who may ask each other; an arrow leads from a superior. */
export function CrewPicture({ crew }: { crew: Crew }) {
  const t = useT();
  const word = useRelationWord();
  const [box, width] = useWidth();
  const [chosen, setChosen] = useState<string>();
  const { nodes, height } = ring(crew.members, width);
  const lines = linesOf(crew, nodes);
  const isOn = (line: Line) => [line.from.member.id, line.to.member.id].includes(chosen ?? "");
  const told = (node: Node) =>
    lines
      .filter((line) => line.from === node || line.to === node)
      .map(({ row }) => t("relations.line", { who: row.name, relation: word(row.relation), of: nameOf(crew, row.member) }));
  return (
    <div ref={box} className="crew-picture">
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="group" aria-label={t("relations.picture", { n: nodes.length })}>
        {lines.map((line) => (
          <path
            key={`${line.row.member} ${line.row.other}`}
            className={["crew-line", line.row.isMutual ? "" : "lopsided", isOn(line) ? "on" : ""].join(" ")}
            d={draw(line)}
          />
        ))}
        {lines
          .filter((line) => (chosen ? isOn(line) : !line.isOrder && width > NARROW && lines.length <= LABELLED))
          .map((line) => (
            <text
              key={`${line.row.member} ${line.row.other}`}
              className="crew-word"
              x={line.from.x + (line.to.x - line.from.x) * ALONG}
              y={line.from.y + (line.to.y - line.from.y) * ALONG - 5}
              textAnchor="middle"
              aria-hidden="true"
            >
              {word(line.isOrder ? "superior" : line.row.relation)}
            </text>
          ))}
        {nodes.map((node) => (
          <a
            key={node.member.id}
            className="crew-node"
            href={`#/members?${new URLSearchParams({ member: node.member.id })}`}
            aria-label={[node.member.name || node.member.id, ...told(node)].join(". ")}
            onMouseEnter={() => setChosen(node.member.id)}
            onMouseLeave={() => setChosen(undefined)}
            onFocus={() => setChosen(node.member.id)}
            onBlur={() => setChosen(undefined)}
          >
            <circle cx={node.x} cy={node.y} r={RADIUS} fill={colourOf(crew.members, node.member.id)} />
            <Name node={node} letters={width > NARROW ? LETTERS : LETTERS - 3} />
          </a>
        ))}
      </svg>
      <p className="faint">{t("relations.legend")}</p>
    </div>
  );
}

function Name({ node, letters }: { node: Node; letters: number }) {
  const name = [...(node.member.name || node.member.id)];
  const text = name.length > letters ? `${name.slice(0, letters - 1).join("")}…` : name.join("");
  // Above and below at the poles, else outside of the ring.
  const isPole = Math.abs(node.cos) < 0.2;
  const away = RADIUS + GAP;
  return (
    <text
      x={node.x + (isPole ? 0 : Math.sign(node.cos) * away)}
      y={isPole ? node.y + (node.sin < 0 ? -away : away + 10) : node.y + 5}
      textAnchor={isPole ? "middle" : node.cos < 0 ? "end" : "start"}
    >
      {text}
    </text>
  );
}

const nameOf = (crew: Crew, id: string) => crew.members.find((one) => one.id === id)?.name || id;

/** Puts the members on a ring: as wide as there is room for, as high as they need. */
function ring(members: CrewMember[], width: number): { nodes: Node[]; height: number } {
  const count = members.length;
  const across = Math.max(46, Math.min(220, width / 2 - MARGIN));
  const isNarrow = width <= NARROW;
  const up = count === 2 ? 0 : isNarrow ? Math.max(70, count * 13) : Math.max(90, Math.min(across, 60 + count * 12), count * 11);
  const first = count === 2 ? Math.PI : -Math.PI / 2;
  const nodes = members.map((member, at) => {
    const angle = first + (2 * Math.PI * at) / count;
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    // On a narrow screen the ring becomes two columns between its poles.
    const share = at / count;
    const [right, down] = isNarrow ? [Math.sign(cos) * Math.abs(cos) ** 0.5, 4 * Math.min(share, 1 - share) - 1] : [cos, sin];
    return { member, cos, sin, x: width / 2 + across * right, y: TOP + up + up * down };
  });
  return { nodes, height: Math.max(...nodes.map(({ y }) => y)) + TOP };
}

function linesOf(crew: Crew, nodes: Node[]): Line[] {
  const find = (id: string) => nodes.find((node) => node.member.id === id);
  return pairsOf(crew).flatMap((row) => {
    const [member, other] = [find(row.member), find(row.other)];
    if (row.kind !== "member" || !member || !other || member === other) return [];
    const kind = meaning(row.relation);
    // The other is what the row says to the member.
    const [from, to] = kind === "subordinate" ? [member, other] : [other, member];
    return [{ row, from, to, isOrder: kind === "superior" || kind === "subordinate" }];
  });
}

/** Draws a line from rim to rim, with a head where it leads from a superior. */
function draw({ from, to, isOrder }: Line): string {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const long = Math.hypot(dx, dy) || 1;
  const [ux, uy] = [dx / long, dy / long];
  const at = (point: Point, along: number, aside = 0) => `${(point.x + ux * along - uy * aside).toFixed(1)} ${(point.y + uy * along + ux * aside).toFixed(1)}`;
  const rim = RADIUS + 4;
  const line = `M${at(from, rim)}L${at(to, -rim)}`;
  return isOrder ? `${line}M${at(to, -rim - 9, 5)}L${at(to, -rim)}L${at(to, -rim - 9, -5)}` : line;
}

function useWidth() {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(FIRST_WIDTH);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setWidth(Math.max(240, Math.floor(element.clientWidth))));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return [box, width] as const;
}

import { useLayoutEffect, useRef, useState, type RefObject } from "react";

interface Bar {
  label: string;
  values: number[];
}

interface Props {
  title: string;
  bars: Bar[];
  series: string[];
  show: (value: number) => string;
}

const HEIGHT = 180;
const LEFT = 52;
const BOTTOM = 22;
const TOP = 10;
const LABEL_WIDTH = 64;

/** Rounds up to 1, 2 or 5 times a power of ten, so that the axis reads well. */
function niceTop(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10) * power;
}

/** Stacked bars, one per day. The numbers are also in each bar's title for those who do not see colour. */
export function BarPlot({ title, bars, series, show }: Props) {
  const top = niceTop(Math.max(...bars.map((bar) => bar.values.reduce((sum, value) => sum + value, 0))));
  const plotHeight = HEIGHT - BOTTOM - TOP;
  const [box, width] = useWidth();
  const slot = (width - LEFT) / bars.length;
  const every = Math.ceil((bars.length * LABEL_WIDTH) / (width - LEFT));
  const y = (value: number) => TOP + plotHeight * (1 - value / top);
  return (
    <figure className="plot" ref={box}>
      <figcaption>
        <strong>{title}</strong>
        {series.length > 1 &&
          series.map((name, index) => (
            <span key={name} className="faint">
              <i className={`swatch plot-${index + 1}`} /> {name}
            </span>
          ))}
      </figcaption>
      <svg viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={title}>
        {[0, 0.5, 1].map((share) => (
          <g key={share}>
            <line className="plot-line" x1={LEFT} x2={width} y1={y(top * share)} y2={y(top * share)} />
            <text className="plot-text" x={LEFT - 8} y={y(top * share) + 4} textAnchor="end">
              {show(top * share)}
            </text>
          </g>
        ))}
        {bars.map((bar, index) => (
          <g key={bar.label}>
            <title>{`${bar.label}: ${bar.values.map((value, at) => `${series[at]} ${show(value)}`).join(", ")}`}</title>
            {stack(bar.values).map(([from, to], at) => (
              <rect
                key={at}
                className={`plot-fill-${at + 1}`}
                x={LEFT + slot * index + slot * 0.15}
                width={slot * 0.7}
                y={y(to)}
                height={Math.max(0, y(from) - y(to))}
                rx={1.5}
              />
            ))}
            {index % every === 0 && (
              <text className="plot-text" x={LEFT + slot * (index + 0.5)} y={HEIGHT - 6} textAnchor="middle">
                {bar.label}
              </text>
            )}
          </g>
        ))}
      </svg>
    </figure>
  );
}

/** Follows an element's inner width, so that letters in the plot keep their size on every screen. */
function useWidth(): [RefObject<HTMLElement | null>, number] {
  const box = useRef<HTMLElement>(null);
  const [width, setWidth] = useState(720);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = () => setWidth(Math.max(240, element.clientWidth - 30));
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return [box, width];
}

function stack(values: number[]): [number, number][] {
  let sum = 0;
  return values.map((value) => {
    const from = sum;
    sum += value;
    return [from, sum];
  });
}

// A chart of a measurement over time (uPlot).
import 'uplot/dist/uPlot.min.css';
import { useComputedColorScheme } from '@mantine/core';
import { memo, type RefObject, useEffect, useLayoutEffect, useRef } from 'react';
import uPlot from 'uplot';
import { formatTime, timeZone, useTimeZone } from '../ui/time-zone.ts';
import './axis.css';
import { loneValues } from './series.ts';

/** The measurements of one interval; null in a gap, undefined where a line joins the neighbors. */
type Spread = { min: number; avg: number; max: number } | null | undefined;

/** Something that happened. */
export interface Mark {
  at: number;
  label: string;
  /** Style sheet color. */
  color: string;
  /** Page of the task, or of events as severe. */
  href: string;
}

interface TimeSeriesProps {
  title: string;
  /** Starts of the intervals, in ms. */
  at: number[];
  spreads: Spread[];
  /** The whole axis, in ms. */
  period: [number, number];
  marks: readonly Mark[];
  unit?: string;
  /** Fixed range of the scale. */
  range?: [number, number];
}

const HEIGHT = 190;

/** Width of the scale, in pixels. charts.css aligns the axis and the state bar with it. */
const SCALE = 46;
const RIGHT = 18;

/** A line of averages in front of the range between minimum and maximum. The line has the gaps of the telemetry. */
export const TimeSeries = memo(function TimeSeries(props: TimeSeriesProps) {
  const { title, at, spreads, period, marks, unit = '' } = props;
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  // The plot outlives these props: it reads the newest ones when it draws.
  const latest = useRef(props);
  useLayoutEffect(() => {
    latest.current = props;
  }, [props]);
  const scheme = useComputedColorScheme('light');
  const [zone] = useTimeZone();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the effect reads the colors and the zone
  useEffect(() => {
    const { current } = host;
    if (current === null) return;
    plot.current = new uPlot(optionsOf(current, latest), undefined, current);
    const resize = new ResizeObserver(() => {
      plot.current?.setSize({ width: current.clientWidth, height: HEIGHT });
    });
    resize.observe(current);
    return () => {
      resize.disconnect();
      plot.current?.destroy();
    };
  }, [scheme, zone]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the plot reads period and marks when it is drawn
  useEffect(() => {
    plot.current?.setData(dataOf(at, spreads));
  }, [at, spreads, period, marks, scheme, zone]);
  return (
    <figure className="series">
      <figcaption>
        <span className="card-title">{title}</span>
        <span className="series-summary">{summaryOf(spreads, unit)}</span>
      </figcaption>
      <div ref={host} role="img" aria-label={`${title}: ${summaryOf(spreads, unit)}`} />
    </figure>
  );
});

function dataOf(at: number[], spreads: Spread[]): uPlot.AlignedData {
  const pick = (member: 'min' | 'avg' | 'max') =>
    spreads.map((spread) => spread?.[member] ?? (spread as null | undefined));
  return [at, pick('max'), pick('min'), pick('avg')];
}

function optionsOf(host: HTMLElement, latest: RefObject<TimeSeriesProps>): uPlot.Options {
  const { range } = latest.current;
  const style = getComputedStyle(host);
  const color = (name: string) => style.getPropertyValue(name);
  const axis = {
    stroke: color('--mantine-color-dimmed'),
    font: `11px ${style.fontFamily}`,
    grid: { stroke: color('--line'), width: 1 },
    ticks: { stroke: color('--line'), width: 1 },
  };
  const edge = { stroke: 'transparent', width: 0, points: { show: false } };
  const filter: uPlot.Series.Points.Filter = (plot, series, isShown) =>
    isShown ? null : loneValues([...(plot.data[series] ?? [])]);
  return {
    width: host.clientWidth,
    height: HEIGHT,
    padding: [null, RIGHT, null, 0],
    legend: { show: false },
    ms: 1,
    ...(timeZone() === 'UTC' && {
      tzDate: (at) => uPlot.tzDate(new Date(at), 'Etc/UTC'),
    }),
    cursor: { show: false },
    scales: { x: { range: () => latest.current.period }, y: range === undefined ? {} : { range } },
    axes: [
      { ...axis, size: 40, space: 64, values: (_, moments) => namesOf(moments) },
      { ...axis, size: SCALE, values: (_, values) => values.map((value) => short.format(value)) },
    ],
    series: [
      {},
      edge,
      edge,
      {
        stroke: color('--busy-bar'),
        width: 2,
        points: { size: 5, fill: color('--busy-bar'), filter },
      },
    ],
    bands: [{ series: [1, 2], fill: `${color('--busy-bar')}30` }],
    hooks: { drawAxes: [(plot) => drawMarks(plot, latest.current.marks, color)] },
  };
}

function drawMarks(
  { ctx, bbox, valToPos }: uPlot,
  marks: readonly Mark[],
  color: (name: string) => string,
): void {
  ctx.save();
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([3, 3]);
  for (const mark of marks) {
    const x = Math.round(valToPos(mark.at, 'x', true));
    ctx.strokeStyle = color(`--${mark.color}`);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

const short = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 4 });
const day = { day: 'numeric', month: 'short' } as const;
const minute = { hour: '2-digit', minute: '2-digit' } as const;
const second = { ...minute, second: '2-digit' } as const;

/** Labels for times in ms: the time of day, and the date below it where it begins. */
function namesOf(moments: number[]): string[] {
  const days = moments.map((at) => formatTime(at, day));
  const isShort = moments.some((at) => at % 60_000 !== 0);
  const times = moments.map((at) => formatTime(at, isShort ? second : minute));
  if (new Set(times).size === 1 && moments.length > 1) return days;
  return times.map((time, i) => (days[i] === days[i - 1] ? time : `${time}\n${days[i]}`));
}

export const numberText = (value: number) =>
  value.toLocaleString('en', { maximumSignificantDigits: 4 });

function summaryOf(spreads: Spread[], unit: string): string {
  const measured = spreads.filter((spread) => spread != null);
  if (measured.length === 0) return 'no readings in this period';
  const lowest = Math.min(...measured.map(({ min }) => min));
  const highest = Math.max(...measured.map(({ max }) => max));
  const last = measured.at(-1)?.avg ?? 0;
  return `${numberText(lowest)} to ${numberText(highest)}${unit}, last ${numberText(last)}${unit}`;
}

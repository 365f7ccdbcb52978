// A chart of stacked bars.
import { type MouseEvent, type PointerEvent, type ReactNode, useRef, useState } from 'react';
import { Link } from 'wouter';
import './charts.css';

interface Bar {
  /** What the bar counts: an hour, a day, a range. */
  label: string;
  /** One value for each series, from the bottom up. */
  values: number[];
  /** The list of what the bar counts. Beside the chart is a link to the whole list, for the keyboard. */
  href?: string;
}

export interface BarsProps {
  bars: Bar[];
  /** Name and style sheet color of each series. */
  series: { name: string; color: string }[];
  /** What is counted, for screen readers. */
  caption: string;
}

const HEIGHT = 120;
const STEP = 10;

/**
 * Stacked bars, with the same numbers in a table for screen readers. The bar that is pointed at or tapped shows its
 * values; a second tap opens its list.
 */
export function Bars({ bars, series, caption }: BarsProps) {
  const [pointed, setPointed] = useState<string | null>(null);
  /** Whether the bar is tapped, and did not show its values before. */
  const isFirstTap = useRef(false);
  const sum = ({ values }: Bar) => values.reduce((total, value) => total + value, 0);
  const top = Math.max(...bars.map(sum));
  const format = (value: number) => value.toLocaleString('en');
  const textOf = ({ label, values }: Bar) =>
    `${label}: ${series.map(({ name }, i) => `${format(values[i] ?? 0)} ${name}`).join(', ')}`;
  const shown = bars.find(({ label }) => label === pointed);
  return (
    <figure className="bars">
      <div className="bars-scale" aria-hidden>
        <span>{top > 0 && format(top)}</span>
        {shown && <span>{textOf(shown)}</span>}
      </div>
      <svg
        viewBox={`0 0 ${bars.length * STEP} ${HEIGHT}`}
        preserveAspectRatio="none"
        aria-hidden
        onPointerLeave={({ pointerType }) => pointerType === 'mouse' && setPointed(null)}
      >
        <rect className="bars-middle" y={HEIGHT / 2} width={bars.length * STEP} height={0.8} />
        {bars.map((bar, place) => (
          <MaybeLink
            key={bar.label}
            href={bar.href}
            onPointerEnter={({ pointerType }) => {
              isFirstTap.current = pointerType === 'touch' && pointed !== bar.label;
              setPointed(bar.label);
            }}
            onClick={(event) => {
              if (isFirstTap.current) event.preventDefault();
            }}
          >
            <rect x={place * STEP} y={0} width={STEP} height={HEIGHT} fill="transparent" />
            {top === 0 || sum(bar) === 0 ? (
              <rect
                className="bars-none"
                x={place * STEP + 1}
                y={HEIGHT - 1.5}
                width={STEP - 2}
                height={1.5}
              />
            ) : (
              bar.values.map((value, i) => {
                const below = bar.values.slice(0, i).reduce((total, one) => total + one, 0);
                const height = (value / top) * HEIGHT;
                return (
                  <rect
                    key={series[i]?.name}
                    x={place * STEP + 1}
                    y={HEIGHT - (below / top) * HEIGHT - height}
                    width={STEP - 2}
                    height={height}
                    fill={`var(--${series[i]?.color})`}
                  />
                );
              })
            )}
          </MaybeLink>
        ))}
      </svg>
      {top === 0 && (
        <div className="bars-empty" aria-hidden>
          No data yet
        </div>
      )}
      <div className="bars-ends" aria-hidden>
        <span>{bars[0]?.label}</span>
        <span>{bars.at(-1)?.label}</span>
      </div>
      {series.length > 1 && (
        <div className="legend" aria-hidden>
          {series.map(({ name, color }) => (
            <span key={name}>
              <i style={{ background: `var(--${color})` }} />
              {name}
            </span>
          ))}
        </div>
      )}
      <div className="hidden">
        <table>
          <caption>{caption}</caption>
          <thead>
            <tr>
              <th>When</th>
              {series.map(({ name }) => (
                <th key={name}>{name}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {bars.map((bar) => (
              <tr key={bar.label}>
                <th>{bar.label}</th>
                {series.map(({ name }, i) => (
                  <td key={name}>{format(bar.values[i] ?? 0)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  );
}

interface MaybeLinkProps {
  href: string | undefined;
  onPointerEnter: (event: PointerEvent) => void;
  onClick: (event: MouseEvent) => void;
  children: ReactNode;
}

function MaybeLink({ href, onClick, ...props }: MaybeLinkProps) {
  if (href === undefined) return <g {...props} />;
  return <Link href={href} tabIndex={-1} onClick={onClick} {...props} />;
}

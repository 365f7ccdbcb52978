// Icons, drawn as strokes.
/** Strokes on a grid of 24 by 24. */
const paths = {
  overview: 'M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-3H4zM14 7h6V4h-6z',
  robot:
    'M5 9h14v10H5zM12 9V5M9 13.5v1M15 13.5v1M2.5 13v3M21.5 13v3M12 5a1 1 0 1 0 0-2 1 1 0 0 0 0 2',
  fleet: 'M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z',
  task: 'M8 6h12M8 12h12M8 18h12M3.5 6l.7.7L5.5 5M3.5 12l.7.7 1.3-1.7M3.5 18l.7.7 1.3-1.7',
  event: 'M12 4a5 5 0 0 0-5 5c0 5-2 6-2 7h14c0-1-2-2-2-7a5 5 0 0 0-5-5M10 19a2 2 0 0 0 4 0',
  webhook:
    'M9.500 8.500a3 3 0 1 1 4.800 2l3 5.300M7 13a3 3 0 1 0 3 4h7M17 20a3 3 0 1 0-1.500-5.600M12 8l-3.500 6',
  account: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8M4.5 20c1-4 4-5.5 7.5-5.5s6.500 1.500 7.500 5.500',
  access: 'M8 20a5 5 0 1 1 3.500-8.500L20 3M16 7l3 3M6.500 15.500h.1',
  verify: 'M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6zM8.500 12l2.500 2.500 4.500-5',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.400 1.400M17.600 17.600 19 19M5 19l1.400-1.400M17.600 6.400 19 5',
  moon: 'M20 14.500A8.500 8.500 0 0 1 9.500 4a8.500 8.500 0 1 0 10.500 10.500',
  up: 'M6 15l6-6 6 6',
  down: 'M6 9l6 6 6-6',
  grip: 'M9 6h.01M15 6h.01M9 12h.01M15 12h.01M9 18h.01M15 18h.01',
  check: 'M5 12.500l4.500 4.500L19 7.500',
  cross: 'M6 6l12 12M18 6L6 18',
  alert: 'M12 4 2.500 20h19zM12 10v4.500M12 17.200v.1',
  back: 'M14 6l-6 6 6 6',
  forward: 'M10 6l6 6-6 6',
  file: 'M6 3h8l4 4v14H6zM14 3v4h4',
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={name === 'grip' ? 2.6 : 1.8}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden
    >
      <path d={paths[name]} />
    </svg>
  );
}

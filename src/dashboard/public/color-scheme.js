// Sets the color scheme before the first paint, to avoid a bright flash in dark mode.
const chosen = localStorage.getItem('mantine-color-scheme-value');
const dark = matchMedia('(prefers-color-scheme: dark)').matches;
document.documentElement.setAttribute(
  'data-mantine-color-scheme',
  chosen === 'light' || chosen === 'dark' ? chosen : dark ? 'dark' : 'light',
);

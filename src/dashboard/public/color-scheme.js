// Before the first paint, so that nobody who works in the dark sees a flash.
const chosen = localStorage.getItem('mantine-color-scheme-value');
const dark = matchMedia('(prefers-color-scheme: dark)').matches;
document.documentElement.setAttribute(
  'data-mantine-color-scheme',
  chosen === 'light' || chosen === 'dark' ? chosen : dark ? 'dark' : 'light',
);

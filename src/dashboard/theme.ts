// Mantine's theme: colors, fonts and defaults.
import { createTheme, type MantineColorsTuple } from '@mantine/core';

const harbour: MantineColorsTuple = [
  '#e8f7f9',
  '#d3ecf0',
  '#a6d9e1',
  '#75c5d1',
  '#4fb3c3',
  '#33a3b5',
  '#16879b',
  '#0b6b7d',
  '#075867',
  '#034551',
];

/** From text to the darkest background, in the hue of the light theme's grays. */
const dark: MantineColorsTuple = [
  '#dde4e9',
  '#b8c2c9',
  '#8d98a0',
  '#616c75',
  '#39444c',
  '#2d363d',
  '#212930',
  '#181e24',
  '#12181c',
  '#0c1013',
];

export const theme = createTheme({
  primaryColor: 'harbour',
  // White text on this shade has a contrast of at least 4.5 to 1.
  primaryShade: { light: 7, dark: 7 },
  colors: { harbour, dark },
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  fontFamily:
    'Inter, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, monospace',
  components: {
    // Underlined, so that links in a text differ by more than color.
    Anchor: { defaultProps: { underline: 'always' } },
    Text: { defaultProps: { size: 'sm' } },
    // Only the main action of a view or dialog is filled.
    Button: { defaultProps: { variant: 'default' } },
    ActionIcon: { defaultProps: { variant: 'default' } },
  },
  headings: { fontWeight: '650' },
});

import { ActionIcon, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { Icon } from './icon.tsx';

export function ColorSchemeButton() {
  const { setColorScheme } = useMantineColorScheme();
  const shown = useComputedColorScheme('light');
  const other = shown === 'dark' ? 'light' : 'dark';
  return (
    <ActionIcon
      variant="default"
      size={30}
      aria-label={`Use ${other} colours`}
      onClick={() => setColorScheme(other)}
    >
      <Icon name={other === 'dark' ? 'moon' : 'sun'} />
    </ActionIcon>
  );
}

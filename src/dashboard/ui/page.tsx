import { Group, Stack, Text, Title } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';

interface PageProps {
  title: string;
  /** Beside the title. */
  badge?: ReactNode;
  lead?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

/** One view: its title is the document's, and where a screen reader goes when the view changes. */
export function Page({ title, badge, lead, actions, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · svc`;
  }, [title]);
  useEffect(() => {
    heading.current?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }, []);
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-end" gap="sm">
        <div className="page-title">
          <Group gap="sm">
            <Title order={1} size="h2" ref={heading} tabIndex={-1} className="page-heading">
              {title}
            </Title>
            {badge}
          </Group>
          {lead && (
            <Text c="dimmed" size="sm" component="div">
              {lead}
            </Text>
          )}
        </div>
        {actions && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  );
}

// The page of a view: title, lead, actions and content.
import { Group, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { type ReactNode, useEffect, useRef } from 'react';
import { Link } from 'wouter';
import { useAlertCount } from '../queries.ts';
import { Icon } from './icon.tsx';

interface PageProps {
  title: string;
  /** The list that the item belongs to. */
  parent?: { href: string; label: string };
  /** Shown next to the title. */
  badge?: ReactNode;
  lead?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

/** One view. Sets the document's title, and moves a screen reader to the heading when the view changes. */
export function Page({ title, parent, badge, lead, actions, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const alerts = useAlertCount();
  useDocumentTitle(`${alerts > 0 ? `(${alerts}) ` : ''}${title} · svc`);
  useEffect(() => {
    heading.current?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }, []);
  return (
    <Stack gap="lg">
      <div className="page-head">
        <div className="page-title">
          {parent && (
            <Link href={parent.href} className="page-parent">
              <Icon name="back" size={14} />
              {parent.label}
            </Link>
          )}
          <Group gap="sm">
            <Title order={1} size="h2" ref={heading} tabIndex={-1} className="page-heading">
              {title}
            </Title>
            {badge}
          </Group>
          {lead && (
            <Text c="dimmed" component="div" mt={4}>
              {lead}
            </Text>
          )}
        </div>
        {actions && <Group gap="xs">{actions}</Group>}
      </div>
      {children}
    </Stack>
  );
}

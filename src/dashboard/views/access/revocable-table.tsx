// A table of what can act for the account, each with a button that ends it.
import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Problem } from '../../ui/states.tsx';
import { dateAndTime } from '../../ui/time.tsx';
import { VirtualTable } from '../../ui/virtual-table.tsx';

interface Revocable {
  id: string;
  name: string;
  detail: ReactNode;
  ends: string;
  /** Shown in place of the button, for what must stay. */
  stays?: ReactNode;
}

interface RevocableTableProps {
  label: string;
  items: Revocable[];
  revoke: (id: string) => Promise<unknown>;
}

export function RevocableTable({ label, items, revoke }: RevocableTableProps) {
  const revocation = useMutation({ mutationFn: revoke });
  return (
    <>
      <Problem of={revocation} mb="sm" />
      <VirtualTable
        label={label}
        items={items}
        columns={[
          {
            title: 'Name',
            isName: true,
            cell: ({ name, detail }) => (
              <>
                {name}
                <div className="dash">{detail}</div>
              </>
            ),
          },
          {
            title: 'Ends',
            isWide: true,
            width: '7rem',
            cell: ({ ends }) => (
              <time dateTime={ends} title={dateAndTime(ends)}>
                {ends.slice(0, 10)}
              </time>
            ),
          },
          {
            title: 'Action',
            width: '7rem',
            cell: ({ id, name, stays }) =>
              stays ?? (
                <Button
                  size="compact-xs"
                  aria-label={`Revoke ${name}`}
                  loading={revocation.isPending && revocation.variables === id}
                  onClick={() => revocation.mutate(id)}
                >
                  Revoke
                </Button>
              ),
          },
        ]}
      />
    </>
  );
}

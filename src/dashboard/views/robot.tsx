// A robot: facts, telemetry, tasks, events, and its dialogs.
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ComponentProps, lazy, type ReactNode, Suspense, useRef, useState } from 'react';
import { useParams } from 'wouter';
import { fleetsQuery, reading } from '../queries.ts';
import { StateBadge, stateOf } from '../ui/badge.tsx';
import { Card } from '../ui/card.tsx';
import { Page } from '../ui/page.tsx';
import { Loading, Waiting } from '../ui/states.tsx';
import { Ago, Freshness, useTenSeconds } from '../ui/time.tsx';
import { Now } from './robot/now.tsx';
import { Telemetry } from './robot/telemetry.tsx';
import './robot/robot.css';

const EventList = lazy(() => import('../lists/event-list.tsx'));
const TaskList = lazy(() => import('../lists/task-list.tsx'));
const SigningCard = lazy(() => import('./robot/signing-card.tsx'));
const RobotDialog = lazy(() => import('./robot/dialogs.tsx'));

export default function Robot() {
  const { id = '' } = useParams();
  const [dialog, setDialog] = useState<ComponentProps<typeof RobotDialog>['name'] | null>(null);
  const now = useTenSeconds();
  const fleets = useQuery(fleetsQuery);
  const query = useQuery(reading(['robots', id], 'GET /api/v1/robots/:id', { params: { id } }));
  const close = () => setDialog(null);
  if (query.data === undefined) return <Waiting query={query} what="robot" />;
  const { robot } = query.data;
  const state = stateOf(robot, now);
  const fleet = fleets.data?.find((one) => one.id === robot.fleet_id);
  return (
    <Page
      title={robot.name}
      parent={{ href: '/robots', label: 'Robots' }}
      badge={state !== null && <StateBadge state={state} />}
      lead={
        <>
          {fleet?.name ?? 'no fleet'} ·{' '}
          {robot.key_hint === null ? 'no key' : `key ${robot.key_hint}`} ·{' '}
          {robot.last_seen_at === null ? (
            'never seen'
          ) : (
            <>
              seen <Ago at={robot.last_seen_at} />
            </>
          )}{' '}
          · <Freshness query={query} />
          {robot.description && <p className="description">{robot.description}</p>}
        </>
      }
      actions={
        <>
          <Button onClick={() => setDialog('edit')}>Edit</Button>
          <Menu>
            <Button onClick={() => setDialog('rotate')}>
              {robot.key_hint === null ? 'Create a key' : 'Rotate key'}
            </Button>
            {robot.key_hint !== null && (
              <Button className="danger" onClick={() => setDialog('revoke')}>
                Revoke key
              </Button>
            )}
            <Button className="danger" onClick={() => setDialog('delete')}>
              Delete
            </Button>
          </Menu>
        </>
      }
    >
      <Now robot={robot} />
      <div className="robot-columns">
        <Telemetry robotId={id} />
        <div className="stack">
          <Card title="Tasks">
            <Suspense fallback={<Loading what="tasks" />}>
              <TaskList filter={{ robot_id: id }} isPart />
            </Suspense>
          </Card>
          <Card title="Events">
            <Suspense fallback={<Loading what="events" />}>
              <EventList filter={{ robot_id: id }} isPart />
            </Suspense>
          </Card>
        </div>
      </div>
      <Suspense>
        <SigningCard robotId={id} />
      </Suspense>
      {dialog && (
        <Suspense>
          <RobotDialog name={dialog} robot={robot} onClose={close} />
        </Suspense>
      )}
    </Page>
  );
}

/** Actions behind a button, which gets the focus back when one is chosen. */
function Menu({ children }: { children: ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLElement>(null);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  return (
    <details
      className="menu"
      open={isOpen}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary ref={button}>More</summary>
      {isOpen && (
        // biome-ignore lint/a11y/noStaticElementInteractions lint/a11y/useKeyWithClickEvents: a click on one of its buttons
        <div onClick={close}>{children}</div>
      )}
    </details>
  );
}

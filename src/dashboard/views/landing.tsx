// The page for visitors: what the service does, a sample that is checked in the browser, and a box that verifies.
import './landing.css';
import { Button, Group } from '@mantine/core';
import { lazy, Suspense } from 'react';
import { Link } from 'wouter';
import { Card } from '../ui/card.tsx';
import { Page } from '../ui/page.tsx';
import { Loading } from '../ui/states.tsx';
import { VerifyBox } from './verify/verify-box.tsx';

const Sample = lazy(() => import('./landing/sample.tsx'));

export default function Landing() {
  return (
    <Page
      title="Proof of a robot’s work that anyone can check"
      lead="svc writes the hash of a robot’s evidence to a public chain. From then on, a change of the evidence shows."
      actions={
        <Group gap="xs">
          <Button component={Link} href="/sign-in" variant="filled">
            Sign in
          </Button>
          <Button component="a" href="/docs">
            API
          </Button>
        </Group>
      }
    >
      <ol className="landing-steps">
        <li>
          <strong>A robot submits evidence</strong>
          Readings, photos or logs of a task that it claimed before.
        </li>
        <li>
          <strong>The hash goes to the chain</strong>
          Not the evidence itself. The service gives the robot a receipt.
        </li>
        <li>
          <strong>Anyone checks it</strong>
          With the evidence and a node of the chain, and without an account here.
        </li>
      </ol>
      <VerifyBox>
        <Card title="A sample">
          <Suspense fallback={<Loading what="sample" />}>
            <Sample />
          </Suspense>
        </Card>
      </VerifyBox>
    </Page>
  );
}

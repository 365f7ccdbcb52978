import { Button } from '@mantine/core';
import { Link } from 'wouter';
import { Page } from '../ui/page.tsx';
import { Empty } from '../ui/states.tsx';

export function NotFound() {
  return (
    <Page title="Not found">
      <Empty title="There is no such page">
        <Button component={Link} href="/" variant="default" mt="sm">
          Go to the overview
        </Button>
      </Empty>
    </Page>
  );
}

// What a view shows instead of data: loading, failed, empty, crashed.
import {
  Alert,
  type AlertProps,
  Button,
  Container,
  Group,
  Paper,
  Skeleton,
  Stack,
  Text,
} from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { Component, type ReactNode } from 'react';
import { ServiceError } from '../api.ts';

export function Loading({ what, rows = 3 }: { what: string; rows?: number }) {
  return (
    <Stack p="md" role="status" aria-label={`Loading ${what}`}>
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows that are all the same
        <Skeleton key={row} height={row === 0 ? 28 : 56} width={row === 0 ? '40%' : '100%'} />
      ))}
    </Stack>
  );
}

/** `onRetry`: only offered if the same request may succeed later. */
export function Failure({ error, onRetry }: { error: Error; onRetry?: () => void }) {
  const status = error instanceof ServiceError ? error.status : 0;
  const isFinal = status >= 400 && status < 429;
  const title = status === 404 ? 'Not found, or deleted' : 'This could not be read';
  return (
    <Alert color="red" title={title} role="alert" m="md">
      <Group justify="space-between" gap="md">
        <Text>{error.message}</Text>
        {onRetry && !isFinal && (
          <Button size="xs" onClick={() => onRetry()}>
            Try again
          </Button>
        )}
      </Group>
    </Alert>
  );
}

/** Why a mutation failed; nothing if it did not. */
export function Problem({ of: { error }, ...props }: AlertProps & { of: { error: Error | null } }) {
  return (
    error && (
      <Alert color="red" role="alert" {...props}>
        {error.message}
      </Alert>
    )
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <Paper className="empty" p="xl">
      <Text size="md" fw={600}>
        {title}
      </Text>
      {children && (
        <Text c="dimmed" component="div" maw={480} mx="auto" mt={4}>
          {children}
        </Text>
      )}
    </Paper>
  );
}

interface LoadedProps<Data> {
  query: UseQueryResult<Data>;
  what: string;
  children: (data: Data) => ReactNode;
}

/** Shows a query's data, or that it is loading, or why it failed. Old data stays visible while new data loads. */
export function Loaded<Data>({ query, what, children }: LoadedProps<Data>) {
  return query.data === undefined ? <Waiting query={query} what={what} /> : children(query.data);
}

type Watched = Pick<UseQueryResult, 'error' | 'refetch'>;

/** Shows that a query is loading, or why it failed. */
export function Waiting({ query: { error, refetch }, what }: { query: Watched; what: string }) {
  return error ? <Failure error={error} onRetry={refetch} /> : <Loading what={what} />;
}

/** Replaces a tree that threw while rendering, for instance because an update removed the files it imports. */
export class Crashed extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    return (
      <Container size="xs" py="xl">
        <Alert color="red" title="This page could not be shown" role="alert">
          <Text mb="md">The service may have been updated since the page was opened.</Text>
          <Button variant="filled" onClick={() => location.reload()}>
            Reload the page
          </Button>
        </Alert>
      </Container>
    );
  }
}

import { Alert, Button, Container, Text } from '@mantine/core';
import { Component, type ReactNode } from 'react';

/** In the place of what threw while it was drawn; after an update of the service its old files are gone. */
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
          <Text size="sm" mb="md">
            The service may have been updated since the page was opened.
          </Text>
          <Button onClick={() => location.reload()}>Load it again</Button>
        </Alert>
      </Container>
    );
  }
}

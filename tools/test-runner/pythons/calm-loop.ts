/**
 * Makes event loops of Python workers rest between rounds. Workers of the 1.7 line keep a processor busy as long as
 * they run (docs/reference/worker-protocol.md#sdk-versions), which nothing else in a test run needs. In the tests'
 * Python of that line, an event loop that has nothing to do rests between its rounds. The SDK itself stays unchanged.
 */
import type { StartupModule } from './python-startup.ts';

const TEXT = `"""An event loop that has gone round often with nothing to do but to go round waits a little each time, and wakes for what comes."""
import selectors

ROUNDS = 200
REST_S = 0.005


class CalmSelector(selectors.DefaultSelector):
    rounds = 0

    def select(self, timeout=None):
        events = super().select(timeout)
        self.rounds = 0 if events or timeout != 0 else self.rounds + 1
        return super().select(REST_S) if self.rounds > ROUNDS else events


selectors.DefaultSelector = CalmSelector
`;

export const CALM_LOOP: StartupModule = { name: 'calm_loop', text: TEXT };

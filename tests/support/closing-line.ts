import type { Reporter, TestModule } from 'vitest/node';

/** Names what was skipped, and why; prints last, alone on a line, `N passed, N failed`, `, N skipped` behind it where there are any. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    const count = { passed: 0, failed: unhandled.length, skipped: 0 };
    for (const module of modules) {
      if (module.errors().length > 0) count.failed += 1;
      for (const test of module.children.allTests()) {
        const result = test.result();
        if (result.state === 'pending') continue;
        count[result.state] += 1;
        if (result.state === 'skipped')
          console.log(`skipped: ${test.fullName}: ${result.note ?? 'not on this machine'}`);
      }
    }
    const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : '';
    process.on('exit', () => process.stdout.write(`${count.passed} passed, ${count.failed} failed${skipped}\n`));
  }
}

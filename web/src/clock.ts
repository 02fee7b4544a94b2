// Times as numbers. A clock that counts nanoseconds from 1970 has more digits than a number keeps:
// such times are told from the first one on.

interface Timed {
  time?: number | bigint | null;
}

export class Clock {
  private origin: bigint | null = null;

  /** Another run begins. */
  reset(): void {
    this.origin = null;
  }

  /** Makes numbers of the times of things that came in one message, the first event first. */
  relate(all: Iterable<Timed>): void {
    for (const thing of all) {
      const { time } = thing;
      if (time === undefined || time === null) continue;
      this.origin ??= Number.isSafeInteger(Number(time)) ? 0n : BigInt(time);
      thing.time = Number(BigInt(time) - this.origin);
    }
  }
}

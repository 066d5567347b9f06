/**
 * The lines of a room as they are shown: every confirmed message once, by rising seq, cut into blocks.
 *
 * A block is drawn as a whole or not at all, so that ten thousand lines cost no more than the few blocks in sight. Lines
 * are looked up by seq, which is one per room and epoch: whatever way a message comes, it is one line.
 */

/** A confirmed message. */
export interface Line {
  readonly seq: number;
  readonly messageId: string;
  readonly actor: string;
  /** Of the reader's own lines; empty on others. */
  readonly clientMessageId: string;
  readonly text: string;
  /** JSON; empty where there is none. */
  readonly data: string;
  readonly at: number;
}

export interface Block {
  /** Never given twice by one Lines. */
  readonly id: number;
  readonly lines: readonly Line[];
}

/** A block is closed at so many lines: about a screen. */
export const blockLines = 25;
/** A reader at the end keeps so many lines in memory; the ones before are read again from the store. */
export const mostLines = 20_000;

export class Lines {
  #blocks: Block[] = [];
  #nextId = 1;
  #count = 0;

  get blocks(): readonly Block[] {
    return this.#blocks;
  }

  get count(): number {
    return this.#count;
  }

  /** The least seq, 0 for none. */
  get first(): number {
    return this.#blocks[0]?.lines[0]?.seq ?? 0;
  }

  /** The greatest seq, 0 for none. */
  get last(): number {
    return this.#blocks.at(-1)?.lines.at(-1)?.seq ?? 0;
  }

  /** Takes lines in any order, and returns those that are new, in the order given. A seq that is there already stays as it is. */
  add(lines: readonly Line[]): Line[] {
    const fresh: Line[] = [];
    const changed = new Map<number, Line[]>();
    for (const line of lines) {
      if (line.seq > this.last || this.#blocks.length === 0) this.#append(line, changed);
      else if (!this.#insert(line, changed)) continue;
      this.#count++;
      fresh.push(line);
    }
    for (const [at, list] of changed) this.#blocks[at] = { ...this.#blocks[at]!, lines: list };
    return fresh;
  }

  /** Puts lines in front: all of them below the first. */
  prepend(lines: readonly Line[]): void {
    const older = lines.filter((l) => this.first === 0 || l.seq < this.first);
    const blocks: Block[] = [];
    for (let i = 0; i < older.length; i += blockLines) {
      blocks.push({ id: this.#nextId++, lines: older.slice(i, i + blockLines) });
    }
    this.#blocks = [...blocks, ...this.#blocks];
    this.#count += older.length;
  }

  /** Drops whole blocks from the front until no more than so many lines are left. */
  trim(most: number): void {
    let drop = 0;
    let left = this.#count;
    while (left - (this.#blocks[drop]?.lines.length ?? left) >= most) left -= this.#blocks[drop++]!.lines.length;
    if (drop === 0) return;
    this.#blocks = this.#blocks.slice(drop);
    this.#count = left;
  }

  /** Drops all. */
  clear(): void {
    this.#blocks = [];
    this.#count = 0;
  }

  has(seq: number): boolean {
    const block = this.#blocks[this.#blockOf(seq)];
    return block !== undefined && found(block.lines, seq);
  }

  #append(line: Line, changed: Map<number, Line[]>): void {
    const at = this.#blocks.length - 1;
    const open = changed.get(at) ?? this.#blocks[at]?.lines;
    if (open !== undefined && open.length < blockLines) {
      const list = changed.get(at) ?? [...open];
      list.push(line);
      changed.set(at, list);
      this.#blocks[at] = { ...this.#blocks[at]!, lines: list };
      return;
    }
    const list = [line];
    this.#blocks = [...this.#blocks, { id: this.#nextId++, lines: list }];
    changed.set(this.#blocks.length - 1, list);
  }

  #insert(line: Line, changed: Map<number, Line[]>): boolean {
    const at = this.#blockOf(line.seq);
    const lines = this.#blocks[at]!.lines;
    if (found(lines, line.seq)) return false;
    const list = changed.get(at) ?? [...lines];
    list.splice(place(list, line.seq), 0, line);
    changed.set(at, list);
    this.#blocks[at] = { ...this.#blocks[at]!, lines: list };
    return true;
  }

  /** The block in whose range a seq lies: the last one that begins at or below it. */
  #blockOf(seq: number): number {
    let low = 0;
    let high = this.#blocks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#blocks[middle]!.lines[0]!.seq <= seq) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** Where a seq stands, or is to stand. */
function place(lines: readonly Line[], seq: number): number {
  let low = 0;
  let high = lines.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lines[middle]!.seq < seq) low = middle + 1;
    else high = middle;
  }
  return low;
}

const found = (lines: readonly Line[], seq: number) => lines[place(lines, seq)]?.seq === seq;

/** The values a `.npy` header is written with: Python literals, read without evaluating anything. */
export type Literal = string | number | boolean | null | readonly Literal[] | ReadonlyMap<string, Literal>;

const MAX_DEPTH = 8;
const WORDS: ReadonlyMap<string, Literal> = new Map<string, Literal>([
  ['True', true],
  ['False', false],
  ['None', null],
]);

/** Reads one dict, tuple, list, string, integer, True, False or None; throws a `SyntaxError` with the position otherwise. */
export function parseLiteral(text: string): Literal {
  const reader = new Reader(text);
  const value = reader.value(0);
  reader.end();
  return value;
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): Literal {
    if (depth > MAX_DEPTH) this.#fail(`nesting deeper than ${MAX_DEPTH}`);
    const next = this.#peek();
    if (next === '{') return this.#dict(depth);
    if (next === '(') return this.#sequence(')', depth);
    if (next === '[') return this.#sequence(']', depth);
    if (next === "'" || next === '"') return this.#string();
    const token = this.#match(/[A-Za-z]+|-?\d+L?/y);
    const word = WORDS.get(token);
    if (word !== undefined) return word;
    const number = Number(token.replace(/L$/, ''));
    return Number.isSafeInteger(number) ? number : this.#fail(`'${token}' is no literal or no exact integer`);
  }

  end(): void {
    if (this.#peek() !== '') this.#fail('text after the end');
  }

  #dict(depth: number): ReadonlyMap<string, Literal> {
    const entries = new Map<string, Literal>();
    this.#take('{');
    while (this.#peek() !== '}') {
      const key = this.#string();
      if (entries.has(key)) this.#fail(`key '${key}' given twice`);
      this.#take(':');
      entries.set(key, this.value(depth + 1));
      if (this.#peek() !== '}') this.#take(',');
    }
    this.#take('}');
    return entries;
  }

  /** `(3)` is read as `(3,)`, which is what every writer that omits the comma means. */
  #sequence(close: string, depth: number): readonly Literal[] {
    const items: Literal[] = [];
    this.#at += 1;
    while (this.#peek() !== close) {
      items.push(this.value(depth + 1));
      if (this.#peek() !== close) this.#take(',');
    }
    this.#take(close);
    return items;
  }

  #string(): string {
    const quoted = this.#match(/'[^'\\\n]*'|"[^"\\\n]*"/y);
    return quoted.slice(1, -1);
  }

  #peek(): string {
    while (/\s/.test(this.#text.charAt(this.#at))) this.#at += 1;
    return this.#text.charAt(this.#at);
  }

  #take(expected: string): void {
    const got = this.#peek();
    if (got !== expected) this.#fail(`expected '${expected}', got ${got === '' ? 'the end' : `'${got}'`}`);
    this.#at += 1;
  }

  #match(pattern: RegExp): string {
    this.#peek();
    pattern.lastIndex = this.#at;
    const token = pattern.exec(this.#text)?.[0];
    if (token === undefined) return this.#fail('expected a literal');
    this.#at += token.length;
    return token;
  }

  #fail(what: string): never {
    throw new SyntaxError(`${what} at character ${this.#at}`);
  }
}

#pragma once
#include "peer.h"

// The cases as the benchmark writes them on a line, in the order of the fields.

namespace peer {

/** out[i] = op(a[i])·op(b[i]); items `strideA` and `strideB` elements apart, 0 where one operand serves all. */
struct Matmul {
  long threads, items, M, N, K, transposeA, transposeB, strideA, strideB;
  /** B may be brought into another form before the clock starts. */
  long ahead;
  Buffer a, b, out;

  explicit Matmul(std::istream& words) {
    for (long* field : {&threads, &items, &M, &N, &K, &transposeA, &transposeB, &strideA, &strideB, &ahead}) {
      *field = next(words);
    }
    a = random(std::size_t(strideA == 0 ? M * K : items * M * K), 1);
    b = random(std::size_t(strideB == 0 ? K * N : items * K * N), 2);
    out = blank(length());
  }
  std::size_t length() const { return std::size_t(items * M * N); }
};

struct Conv2d {
  long threads, nhwc, batch, C, H, W, O, KH, KW, OH, OW, strideH, strideW, top, left, bottom, right, groups;
  /** x and the result, too, may be in whatever form the contender likes. */
  long blocked;
  Buffer x, w, out;

  explicit Conv2d(std::istream& words) {
    for (long* field : {&threads, &nhwc, &batch, &C, &H, &W, &O, &KH, &KW, &OH, &OW, &strideH, &strideW, &top, &left,
                        &bottom, &right, &groups, &blocked}) {
      *field = next(words);
    }
    x = random(std::size_t(batch * C * H * W), 1);
    w = random(std::size_t(O * (C / groups) * KH * KW), 2);
    out = blank(length());
  }
  std::size_t length() const { return std::size_t(batch * O * OH * OW); }
};

struct Relu {
  long threads, length, inPlace;
  Buffer x, out;

  explicit Relu(std::istream& words) {
    for (long* field : {&threads, &length, &inPlace}) *field = next(words);
    x = random(std::size_t(length), 1);
    if (!inPlace) out = blank(std::size_t(length));
  }
};

/** A case whose operands live as long as it does. */
template <class Op, class F>
Case computed(std::shared_ptr<Op> op, const float* result, std::size_t length, std::string note, F call) {
  return {.run = [op, call](long repeats) { repeat(call)(repeats); },
          .result = result,
          .length = length,
          .note = std::move(note)};
}

}  // namespace peer

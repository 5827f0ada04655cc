// Plain loops, compiled at -O2, with no intrinsics and no threads: the floor.
#include "ops.h"

using namespace peer;

namespace {

void product(const Matmul& op, const float* a, const float* b, float* out) {
  for (long i = 0; i < op.M * op.N; ++i) out[i] = 0;
  for (long m = 0; m < op.M; ++m) {
    for (long k = 0; k < op.K; ++k) {
      const float left = op.transposeA ? a[k * op.M + m] : a[m * op.K + k];
      if (op.transposeB) {
        for (long n = 0; n < op.N; ++n) out[m * op.N + n] += left * b[n * op.K + k];
      } else {
        for (long n = 0; n < op.N; ++n) out[m * op.N + n] += left * b[k * op.N + n];
      }
    }
  }
}

Case matmul(std::istream& words) {
  auto op = std::make_shared<Matmul>(words);
  const auto call = [m = op.get()] {
    for (long i = 0; i < m->items; ++i) {
      product(*m, &m->a[i * m->strideA], &m->b[i * m->strideB], &m->out[i * m->M * m->N]);
    }
  };
  return computed(op, op->out.get(), op->length(), "plain loops", call);
}

void convolve(const Conv2d& c) {
  const long share = c.C / c.groups, perGroup = c.O / c.groups;
  float* out = c.out.get();
  const auto xAt = [&](long n, long i, long h, long w) {
    return c.nhwc ? ((n * c.H + h) * c.W + w) * c.C + i : ((n * c.C + i) * c.H + h) * c.W + w;
  };
  const auto wAt = [&](long o, long i, long kh, long kw) {
    return c.nhwc ? ((kh * c.KW + kw) * share + i) * c.O + o : ((o * share + i) * c.KH + kh) * c.KW + kw;
  };
  for (long n = 0; n < c.batch; ++n)
    for (long o = 0; o < c.O; ++o)
      for (long oh = 0; oh < c.OH; ++oh)
        for (long ow = 0; ow < c.OW; ++ow) {
          float sum = 0;
          for (long i = 0; i < share; ++i)
            for (long kh = 0; kh < c.KH; ++kh)
              for (long kw = 0; kw < c.KW; ++kw) {
                const long h = oh * c.strideH + kh - c.top, w = ow * c.strideW + kw - c.left;
                if (h < 0 || h >= c.H || w < 0 || w >= c.W) continue;
                sum += c.x[xAt(n, o / perGroup * share + i, h, w)] * c.w[wAt(o, i, kh, kw)];
              }
          out[c.nhwc ? ((n * c.OH + oh) * c.OW + ow) * c.O + o : ((n * c.O + o) * c.OH + oh) * c.OW + ow] = sum;
        }
}

Case conv2d(std::istream& words) {
  auto op = std::make_shared<Conv2d>(words);
  return computed(op, op->out.get(), op->length(), "plain loops", [c = op.get()] { convolve(*c); });
}

Case relu(std::istream& words) {
  auto op = std::make_shared<Relu>(words);
  float* out = op->inPlace ? op->x.get() : op->out.get();
  const auto call = [op = op.get(), out] {
    for (long i = 0; i < op->length; ++i) {
      const float value = op->x[i];
      out[i] = value <= 0 ? 0 : value;
    }
  };
  return computed(op, out, std::size_t(op->length), "plain loop", call);
}

}  // namespace

int main() { serve(std::string("plain C++ ") + __VERSION__, {{"matmul", matmul}, {"conv2d", conv2d}, {"relu", relu}}); }

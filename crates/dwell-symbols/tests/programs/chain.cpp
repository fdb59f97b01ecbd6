// Names that need demangling: namespaces, templates, methods, lambdas.
#include <vector>

extern "C" void probe(const char *label);

#define INLINE inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline, noclone))

volatile int sink;

namespace grid {

template <typename T> struct Halo {
    std::vector<T> cells;

    INLINE void inner(T by) {
        cells[0] += by;
        probe("template"); // @inner
        cells[0] -= by;
    }

    NOINLINE void exchange(T by) {
        sink++;
        inner(by); // @exchange
        sink++;
    }
};

} // namespace grid

NOINLINE static void apply(const std::vector<int> &values) {
    auto twice = [&](int factor) __attribute__((noinline)) {
        sink += factor;
        probe("lambda"); // @lambda
        sink += values[0];
    };
    twice(2);
    sink++;
}

int main() {
    grid::Halo<double> halo{std::vector<double>(4, 1.0)};
    halo.exchange(0.5);
    apply({1, 2, 3});
    return 0;
}

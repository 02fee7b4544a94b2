// Values of every kind a C++ program has, at one stop: fixture of the symbol and expression tests.
#include <cstdio>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace geo {
enum class Kind : unsigned char { Small, Large = 7 };
enum Plain { ZERO, ONE };
struct Base {
    virtual ~Base() {}
    virtual int area() const { return 0; }
    int b = 4;
};
class Point : public Base {
public:
    int x;
    std::string label;
    static int made;
    explicit Point(int v) : x(v), label("pt") { made++; }
    int twice() const { return x * 2; }
    int area() const override { return x; }

private:
    double hidden = 2.5;

protected:
    Kind kind = Kind::Large;
};
int Point::made = 0;
struct Left { int l = 1; };
struct Right { int r = 2; };
struct Both : Left, Right { int own = 3; };
template <typename T, int N> struct Buffer {
    T data[N];
    T &at(int i) { return data[i]; }
};
struct Empty {};
}

int global_counter = 3;

__attribute__((noinline)) int stop_here(const std::string &s, std::vector<int> &v, geo::Point *p, std::map<int, int> &m, int &ref, geo::Both both) {
    std::string empty, longer(300, 'x');
    std::vector<std::string> names{"a", "bb"};
    std::vector<double> none;
    std::vector<int> same(30, 7);
    std::set<int> set{3, 1, 2};
    std::unordered_map<int, int> hash{{5, 55}};
    std::list<int> list{1, 2};
    std::unique_ptr<int> unique(new int(9));
    std::shared_ptr<int> shared = std::make_shared<int>(10), other = shared, nothing;
    std::optional<int> some = 5, nil;
    std::string_view view = "view";
    std::pair<int, char> pair{1, 'c'};
    std::deque<int> deque{1, 2, 3};
    std::deque<double> long_deque(100, 1.5);
    std::tuple<int, std::string, char> tuple{1, "two", 'c'};
    std::vector<bool> bits{true, false, true};
    geo::Buffer<int, 3> buffer{{1, 2, 3}};
    geo::Kind kind = geo::Kind::Large;
    geo::Plain plain = geo::ONE;
    geo::Empty nil_struct;
    bool flag = true;
    char16_t c16 = u'x';
    char32_t c32 = U'y';
    wchar_t wide = L'w';
    int &alias = ref;
    const int &constant = 5;
    int geo::Both::*member = &geo::Both::own;
    geo::Base *base = p;
    geo::Base &base_ref = *p;
    nullptr_t null = nullptr;
    auto lambda = [&ref](int a) { return a + ref; };
    int r = s.size() + v.size() + p->twice() + m.size() + lambda(1) + names.size() + same.size() + set.size();
    r += deque.size() + long_deque.size() + std::get<0>(tuple) + bits.size();
    r += hash.size() + list.size() + *unique + *shared + *some + view.size() + pair.first + buffer.at(1) + (int)kind + plain; /* STOP */
    return r + flag + c16 + c32 + wide + alias + constant + both.*member + base->area() + base_ref.b + (null == nullptr) + longer.size() + empty.size() + none.size() + (bool)nil + other.use_count() + (bool)nothing + sizeof nil_struct;
}

int main() {
    std::string s = "verdant";
    std::vector<int> v{5, 6, 7};
    std::map<int, int> m{{1, 11}, {2, 22}};
    std::unique_ptr<geo::Point> u(new geo::Point(9));
    int n = 12;
    printf("%d\n", stop_here(s, v, u.get(), m, n, geo::Both()));
}

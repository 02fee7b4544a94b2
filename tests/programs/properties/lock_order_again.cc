// A std::mutex is not destroyed by a call: what lies where one was freed is another.
#include <cstdio>
#include <mutex>

struct Node {
    std::mutex lock;
    int values[4];
};

static void both(Node *first, Node *second) {
    std::lock_guard<std::mutex> a(first->lock), b(second->lock);
}

// One that was only tried before it was held is freed while the other lives.
static void tried(Node *kept) {
    Node *first = new Node;
    if (first->lock.try_lock()) {
        kept->lock.lock();
        kept->lock.unlock();
        first->lock.unlock();
    }
    delete first;
    Node *again = new Node;
    both(kept, again);
    std::printf("%d\n", again == first);
    delete again;
}

int main() {
    Node *p = new Node, *q = new Node;
    both(p, q);
    delete p;
    delete q;
    // The block that was freed last is given out first.
    Node *r = new Node, *s = new Node;
    both(r, s);
    std::printf("%d\n", r == q && s == p);
    tried(r < s ? r : s);
    delete r;
    delete s;
    return 0;
}

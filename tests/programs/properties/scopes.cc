// Methods and functions of namespaces with the names of C's.
#include <cstdio>
#include <functional>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

struct Connection {
    std::string text;
    void connect(const std::string &to) { text = to; }
    void send(const std::string &more) { text += more; }
    void bind(double) {}
    void listen(std::string) {}
    void accept() {}
    void shutdown() {}
    void close() { text.clear(); }
};

struct Pool {
    int taken = 0;
    int malloc(int n) { return taken += n; }
    void free(int n) { taken -= n; }
    void *realloc(int) { return this; }
};

struct Folder {
    void opendir() {}
    void readdir() {}
    void closedir() {}
};

struct Stream {
    void fopen(const char *) {}
    int fgets(int, int, int) { return 0; }
    int fclose() { return 0; }
};

namespace own {
void free(void *) {}
int socket(int n) { return n; }
void pthread_mutex_lock(void *) {}
}

int main() {
    Connection c;
    c.connect("x");
    c.bind(1.5);
    c.accept();
    c.listen("a");
    c.shutdown();
    c.close();
    c.close();
    c.send("z");
    Pool pool;
    pool.malloc(3);
    pool.free(1);
    pool.free(1);
    pool.realloc(3);
    own::free(&c);
    own::free(&c);
    own::pthread_mutex_lock(&c);
    own::pthread_mutex_lock(&c);
    Folder folder;
    folder.opendir();
    folder.closedir();
    folder.closedir();
    folder.readdir();
    Stream stream;
    stream.fopen("a");
    stream.fclose();
    stream.fclose();
    stream.fgets(1, 2, 3);
    own::socket(3);
    int s = socket(AF_INET, SOCK_STREAM, 0);
    close(s);
    std::printf("%d\n", std::bind([](int x) { return x; }, 3)() + pool.taken);
    return 0;
}

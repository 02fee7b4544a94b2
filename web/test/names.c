// Texts that would be markup, if anybody took them for it.
#include <unistd.h>

__attribute__((noinline)) void greet(const char *name) { (void)name; }

int main(void) {
    greet("<img src=x onerror=\"document.title='owned'\">");
    for (;;) {
        greet("</script><b id=owned>bold</b>");
        usleep(10000);
    }
}

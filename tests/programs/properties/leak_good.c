#define _GNU_SOURCE
#include <netdb.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *work(void *arg) {
    char *parts[50];
    for (int i = 0; i < 50; i++)
        parts[i] = malloc(i * 7 + 1);
    for (int i = 0; i < 50; i++)
        free(parts[i]);
    return arg;
}

int main(void) {
    char *copy = strdup("hello"), *text;
    if (asprintf(&text, "%s %.3f", copy, 1.5) < 0)
        return 1;
    puts(text);
    free(copy);
    free(text);
    int *numbers = NULL;
    for (int n = 1; n < 3000; n += 101) {
        numbers = realloc(numbers, n * sizeof *numbers);
        numbers[n - 1] = n;
    }
    free(numbers);
    void *aligned, *zeros = calloc(10, 10);
    if (posix_memalign(&aligned, 64, 100))
        return 1;
    free(aligned);
    free(zeros);
    free(aligned_alloc(64, 128));
    free(NULL);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    time_t zero = 0;
    printf("%d\n", localtime(&zero)->tm_year);
    // What the C library keeps for itself.
    getpwent();
    getservbyname("http", "tcp");
    putenv("VERDE_LEAK=no");
    printf("%zu\n", strlen(strerror(12345)));
    FILE *f = fopen("/dev/null", "w");
    fputs("a buffer for the file", f);
    fclose(f);
    char *line = NULL;
    size_t size = 0;
    if (getline(&line, &size, stdin) > 0)
        return 1;
    free(line);
    return 9;
}

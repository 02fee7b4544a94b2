/* The paper's queue: 5 producers fill it, 20 consumers empty it. With `bug`, a producer once
   pushes as many elements as the queue has room for in all, without waiting, and it overflows.
   Usage: queue ELEMENTS_PER_PRODUCER [bug] */
#include "bench.h"
#include <pthread.h>

enum { PRODUCERS = 5, CONSUMERS = 20, SIZE = 16 };

struct queue {
    int size, count, head;
    int *elements;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t room = PTHREAD_COND_INITIALIZER, filled = PTHREAD_COND_INITIALIZER;
static struct queue shared;
static long each, left;
static int bug;

__attribute__((noinline)) void queue_new(struct queue *queue, int size) {
    queue->size = size;
    queue->elements = calloc((size_t)size, sizeof *queue->elements);
}

__attribute__((noinline)) void queue_push(struct queue *queue, int prod_id) {
    queue->elements[(queue->head + queue->count++) % queue->size] = prod_id;
}

__attribute__((noinline)) int queue_pop(struct queue *queue, int prod_id) {
    int element = queue->elements[queue->head];
    queue->head = (queue->head + 1) % queue->size;
    queue->count--;
    return element + prod_id;
}

static void *producer(void *id) {
    for (long i = 0; i < each; i++) {
        pthread_mutex_lock(&lock);
        while (shared.count >= shared.size - 1)
            pthread_cond_wait(&room, &lock);
        int elements = bug && id == (void *)3 && i == each / 2 ? SIZE : 1;
        left += elements - 1;
        for (int k = 0; k < elements; k++)
            queue_push(&shared, (int)(long)id);
        pthread_cond_broadcast(&filled);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *consumer(void *id) {
    for (;;) {
        pthread_mutex_lock(&lock);
        while (left && !shared.count)
            pthread_cond_wait(&filled, &lock);
        if (!left) {
            pthread_cond_broadcast(&filled);
            pthread_mutex_unlock(&lock);
            return NULL;
        }
        left--;
        queue_pop(&shared, (int)(long)id);
        pthread_cond_signal(&room);
        pthread_mutex_unlock(&lock);
    }
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    each = atol(argv[1]);
    left = each * PRODUCERS;
    bug = argc > 2;
    queue_new(&shared, SIZE);
    pthread_t id[PRODUCERS + CONSUMERS];
    bench_begin();
    for (long i = 0; i < PRODUCERS + CONSUMERS; i++)
        pthread_create(&id[i], NULL, i < PRODUCERS ? producer : consumer, (void *)i);
    for (int i = 0; i < PRODUCERS + CONSUMERS; i++)
        pthread_join(id[i], NULL);
    bench_end("");
    return 0;
}

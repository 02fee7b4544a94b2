// Five producers and twenty consumers share a bounded queue of `size` slots,
// which holds `size - 1` elements. There is a mistake in it.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PRODUCERS = 5, CONSUMERS = 20, ITEMS = 40, SIZE = 16 };

struct queue {
    int *slots;
    int size, head, tail, length;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

void queue_new(struct queue *queue, int size) {
    queue->slots = calloc(size, sizeof *queue->slots);
    queue->size = size;
    queue->head = queue->tail = queue->length = 0;
}

void queue_push(struct queue *queue, int prod_id) {
    queue->slots[queue->head] = prod_id;
    queue->head = (queue->head + 1) % queue->size;
    queue->length++;
}

int queue_pop(struct queue *queue, int prod_id) {
    int element = queue->slots[queue->tail];
    queue->tail = (queue->tail + 1) % queue->size;
    queue->length--;
    return element - prod_id;
}

static struct queue tasks;

static void *producer(void *arg) {
    int id = *(int *)arg;
    for (int i = 0; i < ITEMS; i++) {
        usleep(500); // the work of making something
        pthread_mutex_lock(&lock);
        while (tasks.length == tasks.size - 1)
            pthread_cond_wait(&changed, &lock);
        queue_push(&tasks, id);
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *consumer(void *arg) {
    int id = *(int *)arg;
    for (int i = 0; i < PRODUCERS * ITEMS / CONSUMERS; i++) {
        pthread_mutex_lock(&lock);
        if (tasks.length == 0) // here: another consumer may have been faster
            pthread_cond_wait(&changed, &lock);
        queue_pop(&tasks, id);
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[PRODUCERS + CONSUMERS];
    int ids[PRODUCERS + CONSUMERS];
    queue_new(&tasks, SIZE);
    for (int i = PRODUCERS + CONSUMERS - 1; i >= 0; i--) {
        ids[i] = i;
        pthread_create(&threads[i], NULL, i < PRODUCERS ? producer : consumer, &ids[i]);
    }
    for (int i = 0; i < PRODUCERS + CONSUMERS; i++)
        pthread_join(threads[i], NULL);
    printf("%d produced and consumed\n", PRODUCERS * ITEMS);
    free(tasks.slots);
    return 0;
}

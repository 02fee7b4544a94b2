// A queue that is pushed to once more than it can hold.
#include <stdlib.h>

struct queue {
    int *items;
    int size, head, tail;
};

__attribute__((noinline)) void queue_new(struct queue *queue, int size) {
    queue->items = calloc(size, sizeof(int));
    queue->size = size;
    queue->head = queue->tail = 0;
}

__attribute__((noinline)) void queue_push(struct queue *queue, int prod_id) {
    queue->items[queue->head] = prod_id;
    queue->head = (queue->head + 1) % queue->size;
}

__attribute__((noinline)) int queue_pop(struct queue *queue, int prod_id) {
    int item = queue->items[queue->tail];
    queue->tail = (queue->tail + 1) % queue->size;
    return item + prod_id;
}

int main(void) {
    struct queue queue;
    queue_new(&queue, 4);
    queue_push(&queue, 1);
    queue_push(&queue, 2);
    queue_pop(&queue, 3);
    queue_push(&queue, 4);
    queue_push(&queue, 5);
    queue_push(&queue, 6);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* Plain numbers of a device, no CUDA type. Filled from the driver, or from a table when
 * planning for a chip that is not there. */
#ifndef JG_BASE_DEVICE_FACTS_H
#define JG_BASE_DEVICE_FACTS_H

#include <stdint.h>

enum { JG_LEAST_COUNTED_CLUSTER = 4, JG_COUNTED_CLUSTERS = 3 };

struct jg_device_facts {
    char name[128];
    int cc_major;
    int cc_minor;
    int sm_count;
    int gpc_sms; /* multiprocessors of a GPC of the die, none missing; 0: nothing is known
                  */
    int64_t l2_bytes;
    int64_t memory_bytes;
    int64_t memory_bytes_s; /* by clock and bus width; 0: the driver does not tell */
    int smem_optin_bytes;   /* shared memory a CTA may ask for */
    /* Clusters of 4, 8 and 16 CTAs that run at once where each CTA has a multiprocessor to
     * itself, as the driver counts them; 0: nothing is known. */
    int clusters_at_once[JG_COUNTED_CLUSTERS];
    int most_cluster_ctas; /* of a cluster that the device holds; 0: nothing is known */
    int driver_version;    /* 1000 * major + 10 * minor; 0 if planned without a device */
};

#endif

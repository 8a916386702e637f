"""The payload that a host put on its link, compared with its rank's payload: to the byte, however
busy the machine is.

A TCP segment is a frame of 66 bytes of headers (Ethernet 14, IPv4 20, TCP 20, timestamps 12) and
its payload. A record has the bytes that a host's qdisc counted, the segments that its kernel sent, and
those that it sent again, which are not among them. So bytes - 66 * segments are the payload and the
frames that were sent again, however many acknowledgements there were and however full frames were.
"""
SEGMENT = 32768  # bytes of a message (workloads/collectives)
HEADER = 22  # before each message, of Open MPI 4.1 over TCP (match + BTL)
FRAME, PAYLOAD = 1514, 1448  # bytes
OVERHEAD = FRAME - PAYLOAD
SACK = 28  # bytes: an acknowledgement has up to so many more where frames were lost or came twice


def in_messages(bytes, messages):
    """So many bytes with the headers of so many messages."""
    return bytes + HEADER * messages


def frames_again(point, rank):
    """The bytes of frames that TCP may have sent again, a step."""
    return FRAME * point["fidelity"]["tcp_retransmitted_by_rank"][rank]


def check_sent(test, point, needed, slack=0):
    """Every rank's host sent the payload that is `needed` of it in a step, `slack` bytes more at
    most. Hosts behind the last of these send nothing."""
    fidelity = point["fidelity"]
    hosts = len(fidelity["wire_bytes_by_rank"])
    # For each peer, and in each of the two readings, one segment may be in transit between the two
    # counters when they are read.
    straddling = 2 * OVERHEAD * hosts
    disturbed = fidelity["drops"] > 0 or any(fidelity["tcp_retransmitted_by_rank"])
    for rank, bytes in enumerate(needed + [0] * (hosts - len(needed))):
        segments = fidelity["tcp_segments_by_rank"][rank]
        sent = fidelity["wire_bytes_by_rank"][rank] - OVERHEAD * segments
        most = bytes + slack + frames_again(point, rank) + (SACK * segments if disturbed else 0)
        where = f"{point['id']}: host {rank}"
        test.assertGreaterEqual(sent, bytes - straddling, where)
        test.assertLessEqual(sent, most + straddling, where)

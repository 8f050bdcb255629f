import JuiceMessages

/// Notes of the journal, each with the value of its record word for word.
public enum GoldenNotes {
    private static let ids = ["juice-maker/till-1/0/2/0", "juice-maker/till-1/0/2/1"]

    /// One of each type, and the shortest of some.
    public static let all: [(note: JournalNote, value: String)] = [
        (
            .forwarded(InputPlace(topic: .orders, partition: nil, offset: 42), to: 5),
            #"{"type":"forwarded","topic":"orders","offset":42,"to":5}"#
        ),
        (
            .forwarded(InputPlace(topic: .restocks, partition: 9, offset: 0), to: 0),
            #"{"type":"forwarded","topic":"restocks","partition":9,"offset":0,"to":0}"#
        ),
        (
            .deadLetter(InputPlace(topic: .orders, partition: nil, offset: 44), code: "notJSON"),
            #"{"type":"deadLetter","topic":"orders","offset":44,"code":"notJSON"}"#
        ),
        (
            .copy(InputPlace(topic: .restocks, partition: nil, offset: .max)),
            #"{"type":"copy","topic":"restocks","offset":9223372036854775807}"#
        ),
        (
            .position(
                JournalPosition(
                    next: [.orders: 1235, .restocks: 57], added: [InputPartition(topic: .orders, partition: 9): 43], stock: 881,
                    claim: 8812, ids: ids,
                    forwarded: [
                        InputPartition(topic: .restocks, partition: 1): 7, InputPartition(topic: .orders, partition: 10): 2,
                        InputPartition(topic: .orders, partition: 3): 42,
                    ])),
            #"{"type":"position","orders":1235,"restocks":57,"stock":881,"claim":8812,"#
                + #""ids":["juice-maker/till-1/0/2/0","juice-maker/till-1/0/2/1"],"#
                + #""added":{"orders/9":43},"forwarded":{"orders/3":42,"orders/10":2,"restocks/1":7}}"#
        ),
        (
            .position(JournalPosition(next: [.restocks: 0], added: [:], stock: 0, claim: 0, ids: [], forwarded: [:])),
            #"{"type":"position","restocks":0,"stock":0,"claim":0,"ids":[]}"#
        ),
        (
            .claim(
                JournalClaim(
                    ids: ids, since: 8800, group: "juice-maker", instance: "till \"1\"", partitions: 8, next: [.orders: 1235])),
            #"{"type":"claim","ids":["juice-maker/till-1/0/2/0","juice-maker/till-1/0/2/1"],"since":8800,"#
                + #""group":"juice-maker","instance":"till \"1\"","partitions":8,"orders":1235}"#
        ),
        (
            .anchored(InputPlace(topic: .orders, partition: nil, offset: 17), by: "root@host", reason: "the topic was made anew"),
            #"{"type":"anchored","topic":"orders","offset":17,"by":"root@host","reason":"the topic was made anew"}"#
        ),
        (
            .anchored(InputPlace(topic: .orders, partition: 8, offset: 17), by: "강남", reason: nil),
            #"{"type":"anchored","topic":"orders","partition":8,"offset":17,"by":"강남"}"#
        ),
    ]
}

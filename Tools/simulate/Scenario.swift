import JuiceDomain
import JuiceEngine
import JuiceMessages

/// The parameters of one run, drawn from the seed. Each run leaves some faults out, since too many at once hide each other.
struct Scenario {
    let steps: Int
    let partitionCount: Int32
    /// How many partitions an operator adds to each topic, and at which step.
    private(set) var enlargements: [(topic: Topic, added: Int32, step: Int)]
    let instances: [String]
    /// Whether every instance is assigned all partitions, and is paused in the middle of takeovers.
    let isContended: Bool
    /// The instances of another group on the same topics.
    let rivals: [String]
    let storeCount: Int
    let maxBatch: Int
    var window: DuplicateWindow
    /// How many bytes of answers stay in memory: at times so few that nearly all repeats need theirs read back.
    private(set) var answerBytes: Int
    private(set) var noteInterval: Timestamp
    /// In milliseconds.
    let commitInterval: Timestamp
    let longestRead: Int
    private(set) var clocks: ClientClocks
    /// The longest time of one step, in milliseconds. In some runs many windows pass, and backlogs grow old.
    var stepTime: Int
    /// The longest leap of the clock, in milliseconds.
    private(set) var leapTime: Int
    /// The storage fault of the run, if any.
    private(set) var storage: StorageFault?

    /// How often commands are sent, markers and records written, and resent requests or a group's offsets arrive, in percent of
    /// the steps.
    private(set) var command: Double
    let marker, delivery, lateArrival: Double
    /// The same for events of instances and their group.
    private(set) var crash: Double
    let stop, pause: Double
    private(set) var rebalance: Double
    /// In percent of the crashes: the process is frozen instead, while another takes its name.
    let ghost: Double
    /// In percent of the steps again: events of the cluster and its clock.
    let outage, leaderLoss, timeOut, compaction, leap: Double
    /// The same for transactions that another program leaves open.
    let foreignTransaction: Double
    /// The same for failures of a group: it forgets its offsets or members, or assigns partitions twice.
    let groupTrouble: Double
    /// In percent of a worker's steps: calls that fail, records that are lost.
    private(set) var fault: Double
    let lostDelivery: Double
    /// Where a worker is paused more often than elsewhere, and how often.
    let pausePoint: SimulatedPort.Point?
    let pauseThere: Double
    /// In percent of the calls: see ``SimulatedCluster/disorder``.
    let disorder, resending: Double
    /// Whether storage may lose commands. Then all go to their stores' partitions: one that was forwarded and lost would count as
    /// unanswered, though no worker could notice. And all answers are read back, so that one of them shows the loss.
    private(set) var isTidy: Bool
    /// In percent of the commands: repeats, commands sent to any partition, and records that are not commands.
    private(set) var repeated: Double
    private(set) var foreign: Double
    private(set) var poison: Double

    init(using random: inout SeededGenerator) {
        func rate(_ most: Double) -> Double { random.chance(25) ? 0 : Double.random(in: 0...most, using: &random) }
        func percent(_ range: ClosedRange<Int>) -> Double { Double(random.number(range)) }
        steps = random.number(200...1200)
        isContended = random.chance(15)
        partitionCount = Int32(random.number(1...(isContended ? 2 : 4)))
        storage = random.chance(20) ? StorageFault(steps: steps, using: &random) : nil
        isTidy = storage.map { $0.topic != .stock && ($0.topic != .results || $0.kind == .recreated) } ?? false
        var enlargements: [(topic: Topic, added: Int32, step: Int)] = []
        for topic in Topic.allCases where !isTidy && random.chance(25) {
            // In some runs they are added before any instance starts.
            let step = random.chance(25) ? 0 : random.number(0...steps)
            enlargements.append((topic, Int32(random.number(1...4)), step))
        }
        self.enlargements = enlargements
        instances = (1...random.number((isContended ? 3 : 1)...4)).map { "instance-\($0)" }
        rivals = random.chance(5) ? (1...random.number(1...2)).map { "rival-\($0)" } : []
        storeCount = random.number(1...6)
        maxBatch = random.number(1...12)
        let age = Timestamp(random.pick([500, 5_000, 60_000, 3_600_000]) ?? 0)
        let count = random.pick([3, 20, 100, 1_000_000]) ?? 0
        window = isTidy ? .standard : DuplicateWindow(age: age, count: count)
        longestRead = random.number(3...60)
        commitInterval = random.chance(25) ? 50 : 0
        noteInterval = random.pick([500, 5_000, 86_400_000]) ?? 0
        clocks = ClientClocks(age: window.age, using: &random)
        stepTime = random.pick(isTidy ? [10] : [10, 10, Int(window.age) / 100, Int(window.age) / 10]) ?? 0
        leapTime = random.pick(isTidy ? [10_000] : [10_000, Int(window.age) * 3]) ?? 0
        (command, marker, delivery) = (percent(5...50), percent(5...100), percent(5...100))
        (crash, ghost, stop, pause) = (rate(3), rate(60), rate(0.5), rate(3))
        (rebalance, groupTrouble, outage) = (rate(2), rate(1), rate(1))
        leaderLoss = random.chance(70) ? 0 : rate(1)
        (timeOut, compaction, leap) = (rate(2), rate(5), rate(1))
        lateArrival = percent(1...30)
        (fault, lostDelivery) = (rate(10), rate(2))
        pausePoint = random.pick(isContended ? SimulatedPort.Point.ofTakeovers : SimulatedPort.Point.allCases)
        pauseThere = isContended ? percent(10...60) : rate(20)
        // In some runs, most transactions meet a late request.
        (disorder, resending) = random.chance(20) ? (percent(20...60), percent(50...100)) : (rate(20), rate(30))
        repeated = rate(30)
        (foreign, poison) = (isTidy ? 0 : rate(40), isTidy ? 0 : rate(8))
        answerBytes = random.pick([0, 600, 4 << 20]) ?? 0
        foreignTransaction = random.chance(70) ? 0 : rate(1)
    }

    /// Adds the loss of a journal's beginning to some runs without another storage fault. Many repeats ask for lost answers, and
    /// owners rarely change: a takeover stops the partition.
    mutating func trim(using random: inout SeededGenerator) {
        guard storage == nil, let trimming = StorageFault(trimming: steps, using: &random) else { return }
        (storage, answerBytes, repeated, window) = (trimming, 0, 50, .standard)
        (crash, rebalance, fault, poison) = (crash / 10, rebalance / 10, fault / 10, 0)
    }
}

extension Scenario {
    /// Makes a harm matter: there are many notes and takeovers, and much is older than repeats may ask for.
    mutating func prepare(for harm: Harm) {
        switch harm.kind {
        case .compactedResults, .lostAnswers: repeated = 50
        case .tombstone, .changedMenu: break
        case .recreatedInput: (isTidy, enlargements, foreign, poison) = (true, [], 0, 0)
        case .foreignStock, .lostCommands, .strangerInGroup: return
        }
        (noteInterval, crash, command, stepTime, leapTime) = (200, max(crash, 1), max(command, 30), 20, 1_000)
        window =
            switch harm.kind {
            // Restores read little of the journal.
            case .tombstone, .changedMenu: DuplicateWindow(age: 2_000, count: 3)
            case .recreatedInput: DuplicateWindow(age: 2_000, count: 1_000_000)
            default: DuplicateWindow(age: 20_000, count: 1_000_000)
            }
        clocks = .right
    }
}

/// A topic that refuses records for some steps, often longer than all other trouble lasts: its `max.message.bytes` is too low.
/// Meanwhile it takes no record of ordinary size.
struct RefusingTopic {
    let topic: Topic
    /// The largest record that it takes, in bytes.
    let limit: Int
    let steps: Range<Int>

    /// Nil for runs in which no topic refuses records.
    init?(steps: Int, using random: inout SeededGenerator) {
        guard random.chance(15), let topic = random.pick(Topic.allCases) else { return nil }
        self.topic = topic
        // The larger limit of the results is between the size of a claim and that of most answers.
        limit = random.chance(30) ? 0 : topic == .results ? 170 : 200
        let start = random.number(0...steps)
        self.steps = start..<random.number(start + 1...steps + 300)
    }
}

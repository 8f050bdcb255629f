import JuiceMaker
import JuiceMessages

/// Makes partition states: what all of them have in common.
struct PartitionFactory {
    let menu: Menu
    let language: Language
    let window: DuplicateWindow
    /// How many partitions the stores are spread over.
    let partitionCount: Int32
    let stateType: PartitionState.Type

    func makeState(at point: RestorePoint) -> PartitionState {
        stateType.init(point, menu: menu, window: window)
    }
}

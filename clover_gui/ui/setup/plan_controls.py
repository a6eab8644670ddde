"""What can be set by hand about a plan: context, its memory, where the experts lie, and on which card.

"Automatic" everywhere unless the person touches it; every change goes out at once, and the bars follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QSlider,
    QWidget,
)

from clover_gui.hardware.machine import Gpu
from clover_gui.i18n import _, capped, number
from clover_gui.model_file.summary import ModelFile
from clover_gui.pipeline.gpu_choice import gpu_id, name_of_id
from clover_gui.planning.cure import Cure
from clover_gui.planning.plan import PROCESSOR_ONLY, FitPlan, KvType, Wishes

CONTEXTS = (4096, 8192, 16384, 32768, 65536, 131072, 262144)
SETTLE_MS = 80


@dataclass(frozen=True, slots=True)
class PlanWishes:
    """What was set by hand on the page; None: choose for me (``graphics``: as in the settings)."""

    context: int | None = None
    kv_type: KvType | None = None
    cpu_expert_layers: int | None = None
    graphics: str | None = None

    def over(self, general: Wishes) -> Wishes:
        """These in place of the general ones, as far as something was set."""
        return replace(
            general,
            context=self.context or general.context,
            kv_type=self.kv_type or general.kv_type,
            cpu_expert_layers=self.cpu_expert_layers,
            graphics=general.graphics if self.graphics is None else self.graphics,
        )

    def cured(self, cure: Cure, general: Wishes) -> PlanWishes:
        """What to set so that over the general wishes it comes to what ``cure`` wishes for: where those would
        come in between, the values of its plan."""
        wishes, plan = cure.wishes, cure.plan
        return PlanWishes(
            wishes.context or (plan.context if general.context else None),
            wishes.kv_type or (plan.kv_type if general.kv_type else None),
            wishes.cpu_expert_layers,
            wishes.graphics if self.graphics is not None or general.graphics else None,
        )


class PlanControls(QWidget):
    """``changed`` comes shortly after the last change, with nothing but what the person set."""

    changed = Signal(object)

    def __init__(self, *, narrow: bool = False, parent: QWidget | None = None) -> None:
        """``narrow``: the names stand above the fields."""
        super().__init__(parent)
        self.context, self.kv_type, self.graphics = QComboBox(), QComboBox(), QComboBox()
        self._gpus: tuple[Gpu, ...] = ()
        self.experts = QSlider(Qt.Orientation.Horizontal)
        self.experts_automatic = QCheckBox()
        self.experts_automatic.setChecked(True)
        self.experts_value = QLabel()
        self._labels = tuple(QLabel() for _index in range(4))
        self._expert_row = QWidget()
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.setInterval(SETTLE_MS)
        self._settle.timeout.connect(lambda: self.changed.emit(self.wishes))
        self.by_hand_label = QLabel()
        self.by_hand_label.setObjectName("note")
        self.by_hand_label.setWordWrap(True)
        self.automatic_button = QPushButton()
        self.automatic_button.setProperty("kind", "aside")
        self.automatic_button.clicked.connect(self._all_automatic)
        self._by_hand = QWidget()
        by_hand = QHBoxLayout(self._by_hand)
        by_hand.setContentsMargins(0, 0, 0, 0)
        by_hand.addWidget(self.by_hand_label, 1)
        by_hand.addWidget(self.automatic_button)
        self._as_last_time = False
        row = QHBoxLayout(self._expert_row)
        row.setContentsMargins(0, 0, 0, 0)
        for widget, stretch in ((self.experts_automatic, 0), (self.experts, 1), (self.experts_value, 0)):
            row.addWidget(widget, stretch)
        form = QFormLayout(self)
        form.setContentsMargins(0, 0, 0, 0)
        if narrow:
            form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapAllRows)
        fields = (self.context, self.kv_type, self._expert_row, self.graphics)
        for label, field in zip(self._labels, fields, strict=True):
            label.setObjectName("rowCaption")
            if not narrow:  # beside the field, at half of its height
                label.setMinimumHeight(field.sizeHint().height())
            form.addRow(label, field)
        form.addRow(self._by_hand)
        for box in (self.context, self.kv_type, self.graphics):
            box.activated.connect(self._changed_by_hand)
            if narrow:  # long names are cut, and the fields stand in one line
                box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
                box.setMinimumContentsLength(8)
                box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.show_graphics((), "")
        self.experts.valueChanged.connect(self._moved)
        self.experts_automatic.toggled.connect(self._automatic)
        self._layer_count = 0
        self.retranslate()

    @property
    def wishes(self) -> PlanWishes:
        """What is set by hand now."""
        kv_type = self.kv_type.currentData()  # a box hands an enum back as its plain value
        by_hand = self._expert_row.isVisibleTo(self) and not self.experts_automatic.isChecked()
        return PlanWishes(
            self.context.currentData() or None,
            KvType(kv_type) if kv_type else None,
            self.experts.value() if by_hand else None,
            self.graphics.currentData() if self.graphics.isVisibleTo(self) else None,
        )

    def show_wishes(self, wishes: PlanWishes, *, as_last_time: bool = False) -> None:
        """Set the fields without a signal; ``show_model`` fills in what is automatic. ``as_last_time``: they
        are those of an earlier load."""
        self._as_last_time = as_last_time
        context, graphics = wishes.context or 0, wishes.graphics or ""
        _choose(self.context, context, _("{count} tokens").format(count=number(context)))
        _choose(self.kv_type, wishes.kv_type.value if wishes.kv_type else None, "")
        _choose(self.graphics, graphics, capped(name_of_id(graphics)))
        for widget in (self.experts_automatic, self.experts):
            widget.blockSignals(True)
        self.experts_automatic.setChecked(wishes.cpu_expert_layers is None)
        if wishes.cpu_expert_layers is not None:
            self.experts.setValue(wishes.cpu_expert_layers)
        for widget in (self.experts_automatic, self.experts):
            widget.blockSignals(False)
        self._show_experts()
        self._show_by_hand()

    def show_graphics(self, gpus: Sequence[Gpu], chosen: str) -> None:
        """Offer these devices, one of which may be chosen already (``Wishes.graphics``). With a single one
        there is no choice to make, unless one was made before."""
        self._gpus = tuple(gpus)
        names = [gpu.name for gpu in gpus]
        offered = {"": _("Automatic")}
        for gpu in gpus:
            name = gpu.name
            if names.count(name) > 1 and gpu.bus_id:
                name = f"{name} ({gpu.bus_id})"
            offered[gpu_id(gpu)] = _("Only {name}").format(name=capped(name, 48))
        offered[PROCESSOR_ONLY] = _("Processor only")
        if chosen not in offered:
            offered[chosen] = _("{name} (not there now)").format(name=capped(name_of_id(chosen), 48))
        self.graphics.clear()
        for key, text in offered.items():
            self.graphics.addItem(text, key)
        self.graphics.setCurrentIndex(max(0, self.graphics.findData(chosen)))
        for widget in (self.graphics, self._labels[3]):
            widget.setVisible(len(gpus) > 1 or bool(chosen))

    def show_model(self, model: ModelFile, plan: FitPlan | None) -> None:
        """Offer what this model can do; ``plan`` is what "Automatic" means at present."""
        limit = model.trained_context or CONTEXTS[-1]
        choices = [n for n in CONTEXTS if n < limit] + [limit]
        current = self.context.currentData()
        self.context.clear()
        automatic = _("Automatic")
        if plan is not None and not current:
            automatic = _("Automatic ({value})").format(value=number(plan.context))
        self.context.addItem(automatic, 0)
        if current and current not in choices:  # set by another hand than this list
            choices = sorted([*choices, current])
        for count in choices:
            self.context.addItem(_("{count} tokens").format(count=number(count)), count)
        self.context.setCurrentIndex(max(0, self.context.findData(current)))
        on_gpu = plan is not None and any(not share.unified for share in plan.devices)
        movable = model.is_moe and (on_gpu or not self.experts_automatic.isChecked())
        self._expert_row.setVisible(movable)
        self._labels[2].setVisible(movable)
        self._layer_count = model.layer_count
        self.experts.blockSignals(True)
        self.experts.setRange(0, model.layer_count)
        if plan is not None and self.experts_automatic.isChecked():
            self.experts.setValue(plan.cpu_expert_layers)
        self.experts.blockSignals(False)
        self._show_experts()
        self._show_by_hand()

    def retranslate(self) -> None:
        """Write all texts again in the language in force."""
        names = (_("Context"), _("Context memory"), _("Experts in RAM"), _("Graphics cards"))
        fields = (self.context, self.kv_type, self.experts, self.graphics)
        for label, name, field in zip(self._labels, names, fields, strict=True):
            label.setText(name)
            field.setAccessibleName(name)
        self.experts_automatic.setText(_("Automatic"))
        self.experts_automatic.setAccessibleName(_("Experts in RAM: automatic"))
        self.experts.setToolTip(
            _("Layers whose experts stay in RAM: more of them need less graphics memory and write slower.")
        )
        kept = self.kv_type.currentIndex()
        self.kv_type.clear()
        for text, value in (
            (_("Automatic"), None),
            (_("Full precision (F16)"), KvType.F16.value),
            (_("Half the memory (Q8_0)"), KvType.Q8_0.value),
            (_("A quarter of the memory (Q4_0)"), KvType.Q4_0.value),
        ):
            self.kv_type.addItem(text, value)
        self.kv_type.setCurrentIndex(max(0, kept))
        self.show_graphics(self._gpus, self.graphics.currentData() or "")
        self.automatic_button.setText(_("All automatic"))
        self.automatic_button.setToolTip(_("Leave everything that is set here to the program again"))
        self._show_by_hand()

    def _show_by_hand(self) -> None:
        """Say that something is set, and where it comes from, with the way back."""
        values = self.wishes
        is_set = values != PlanWishes(graphics=values.graphics)
        self._by_hand.setVisible(is_set)
        text = _("As last time, set by hand.") if self._as_last_time else _("Set by hand.")
        self.by_hand_label.setText(text)

    def _all_automatic(self) -> None:
        graphics = self.wishes.graphics
        self.show_wishes(PlanWishes(graphics=graphics))
        self._settle.start()

    def _changed_by_hand(self) -> None:
        self._as_last_time = False
        self._show_by_hand()
        self._settle.start()

    def _moved(self) -> None:
        self.experts_automatic.blockSignals(True)
        self.experts_automatic.setChecked(False)
        self.experts_automatic.blockSignals(False)
        self._show_experts()
        self._changed_by_hand()

    def _automatic(self, _on: bool) -> None:
        self._changed_by_hand()

    def _show_experts(self) -> None:
        self.experts_value.setText(
            _("{count} of {total} layers").format(
                count=number(self.experts.value()), total=number(self._layer_count)
            )
        )


def _choose(box: QComboBox, value: object, text: str) -> None:
    """Select the entry of this value; one that is not offered is added with this text."""
    if value and box.findData(value) < 0:
        box.addItem(text, value)
    box.setCurrentIndex(max(0, box.findData(value)) if value else 0)

"""Words that are no name of a person or a machine, although one may be called so."""

from __future__ import annotations

# Accounts that distributions, clouds and images make for everybody: they tell nothing about a person.
_ACCOUNTS = """
admin administrator all alma almalinux anolis azureuser centos cloud cloud-user coder codespace conda daemon debian default docker
ec2-user fedora guest jovyan linuxbrew ma-user nobody nogroup opc openeuler public rocky root runner shared test ubuntu user users
vagrant vscode www-data
"""
# Words that facts are made of: a person or machine called like one is replaced only where a name must stand.
_FACTS = """
aarch64 abi accelerator access account acs active addr address alibaba aliyun always amazon amd apache api app apps apt arch arg
args arm64 art ascend auto autodl avx aws azure bar base base64 bash bin bios board boot bridge bug build bus cache card cc cdi
cgroup cgroups chassis class client cloud cluster code com comm command commit common compat completed compute conf config
container containerd containers control copy core cores cpu cpus cuda cudnn current data date deb default dev device devices dgx
disk dist dist-info dmi dns docker domain driver drivers ecc efi email en enabled env environ environment error etc eth example
exec exists export ext4 fabric false file files firmware flags flash free from full gcc gcp generic gib git github glibc google
gpu gpus group grub hdd help high home host hostname hosts http https huawei hub huggingface ib id image images in include index
inet info init initrd install intel internal io iommu ip is it json kb kernel key kvm lan lib lib32 lib64 libc library license
limit limits link linux list llm local localdomain localhost lock log login loop lost low mac machine mail main make manager map
mark master max mem memory meta metadata mib microsoft mig min mirror mnt mode model models modelscope modinfo module modules
mount musl name nccl net network nfs ninja no node none normal not nouveau ns null numa numpy nvcc nvidia nvlink nvme nvml
nvswitch of off on online open openssl opt option options or org os out outlines overlay pack package packages pai path pci pcie
pid pip platform pod port ports power ppc64le private proc process processes product production profile project prompt proprietary
proto provider proxy ps python python3 pytorch qemu ram ray rdma read ready redhat region release repo resource root rootfs rpm
run running runpod runtime sata script scsi sdk seccomp secret secure self server service services session set setup sh share
shell shm shop simple site site-packages size slice slot smi so software source spec src srv ssd ssh ssl state status stopped
storage stub stubs suse swap sys system systemd tag target task tcp temp tencent tencentos test text tf time tmp tmpfs token
tokenizers tool toolkit tools torch total transformers triton true tty type udp uefi uid uname unix unknown unlimited unset update
url usb usr util utils uuid uv value var vendor venv version video virtual vllm vm vmware volume wheel wheels windows work worker
workspace wsl x86 x86_64 xen xformers xfs xid yes zero zip zone zones
"""
SHARED_ACCOUNTS = frozenset(_ACCOUNTS.split())
RESERVED = SHARED_ACCOUNTS | frozenset(_FACTS.split())
